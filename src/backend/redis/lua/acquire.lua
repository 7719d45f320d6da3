-- SPDX-License-Identifier: MIT
-- ACQUIRE: one attempt. ARGV: token, lease, owner as JSON, the client's mark
-- and, as far as they differ from these defaults: the fence that a quorum
-- proposes (0), how long to keep the name after the grant (0), mode ('x'),
-- slots (0), queueing ('never'; 'behind' shared grants or slots; 'always').
-- Replies: the fence · {'ok', fence, slot} · {'busy', is_queued, name} ·
-- {'misfit', slots held} · {'void'}: the token was given back. The fence is
-- negative if the claim takes over a grant that was not given back.
-- many

local token, whose, client = ARGV[1], ARGV[3], ARGV[4] or ''
local lease, proposal = tonumber(ARGV[2]), tonumber(ARGV[5] or 0)
local keeping, mode = tonumber(ARGV[6] or 0), ARGV[7] or 'x'
local slots, queueing = tonumber(ARGV[8] or 0), ARGV[9] or 'never'

if is_void(token) then
    return {'void'}
end

-- include: seize.lua

if is_held and owner == token then
    -- The same attempt again: the grant is renewed.
    local since = call('HGET', KEYS[1], 'acquired')
    seize(token, lease, keeping, whose, since or '0')
    return fence
end
-- A quorum's attempt may fail elsewhere and be undone by release.lua. So the
-- field `was` has the fence that it gave, then the fence and the owner before
-- it. Behind that it has the same of the attempt before, if that is still open,
-- for it may be undone later. An attempt with the same token is the same
-- attempt.
local PAST = 400 -- bytes: of some five attempts
local function keep_past(its_fence, its_owner)
    local was = its_owner and call('HGET', KEYS[1], 'was') or ''
    local gave, before = string.match(was, '^(%d+) (.*)$')
    local past = S(its_fence) .. ' ' .. (its_owner or '')
    local is_open = gave and tonumber(gave) == its_fence
    if is_open and its_owner == token then
        past = before
    elseif is_open and #was < PAST then
        past = past .. ';' .. was
    end
    call('HSET', KEYS[1], 'was', S(fence) .. ' ' .. past)
end

local is_offered = offer and offered > now and offer ~= client
if mode == 'x' and not crowd and not void and not is_held and
   not is_offered and (keep <= now or owner == token) then
    local its_fence, its_owner = fence, owner
    fence = next_fence(proposal)
    seize(token, lease, keeping, whose, stamp)
    if proposal > 0 then
        keep_past(its_fence, its_owner)
    end
    if more then
        call('HDEL', KEYS[1], 'offer', 'offer_until', 'top', 'more')
    end
    return its_owner and its_owner ~= token and -fence or fence
end

-- include: compatibility.lua

local at = look()
local mine = at.grants[token]
if at.is_damaged then
    return redis.error_reply('HOLDFAST one of its grants is damaged')
end
restore()

if mine and not mine.broken and mine.expires > now then
    mine.expires, mine.who = now + lease, whose
    put_grant(mine)
    retain(KEYS[1], lease)
    retain(KEYS[4], lease)
    return {'ok', mine.fence, mine.slot}
end

-- Deletes our old grant and those whose lease is over: from now on nobody can
-- learn of them. True if another token's grant was not given back.
local function forget()
    local is_left = false
    for its_token, g in pairs(at.grants) do
        if g.expires <= now or g == mine then
            call('HDEL', KEYS[4], its_token)
            is_left = is_left or not (g.broken or g == mine)
        end
    end
    return is_left
end

-- Deletes tickets whose claim is gone for good.
local function forget_tickets()
    for _, its_token in ipairs(at.passed) do
        local t = at.tickets[its_token]
        if not t or t.seen + KEEP <= now then
            drop_ticket(its_token)
            at.tickets[its_token] = nil
        end
    end
end

local function mark_crowd()
    if not crowd then
        call('HMSET', KEYS[1], 'crowd', '1', 'more', '1')
        more = '1'
        crowd = '1'
    end
end

local function grant_beside(slot)
    call('HMSET', KEYS[1], 'token', '', 'fence', S(fence), 'keep', '0')
    put_grant({token = token, mode = mode, slots = slots, slot = slot,
               fence = fence, expires = now + lease, since = now,
               broken = false, who = whose})
    mark_crowd()
    retain(KEYS[1], lease)
    retain(KEYS[4], lease)
end

-- Deletes what the last grant left in the record and this one makes obsolete.
local function clear()
    if offer then
        call('HDEL', KEYS[1], 'offer', 'offer_until')
        offer = false
    end
    if top > 0 then
        call('HDEL', KEYS[1], 'top')
    end
    if void then
        tidy_void()
    end
    if more and not crowd and not void then
        call('HDEL', KEYS[1], 'more')
    end
end

local function grant(slot)
    local its_fence, its_owner = fence, owner
    fence = next_fence(proposal)
    local is_left = forget() or (its_owner and its_owner ~= token)
    if at.tickets[token] then
        drop_ticket(token)
    end
    if mode == 'x' then
        seize(token, lease, keeping, whose, stamp)
        if proposal > 0 then
            keep_past(its_fence, its_owner)
        end
    else
        grant_beside(slot)
    end
    tidy()
    clear()
    return {'ok', is_left and -fence or fence, slot}
end

-- As hf__leaves_ticket().
local function leaves_ticket()
    if queueing ~= 'behind' then
        return queueing == 'always'
    end
    for _, list in ipairs({at.holders, at.line}) do
        for _, one in ipairs(list) do
            if one.mode ~= 'x' and
               not agree(one.mode, one.slots, mode, slots) then
                return true
            end
        end
    end
    return false
end

-- Goes behind all other tickets, even if the clock was set back.
local function add_ticket()
    local last = call('ZRANGE', KEYS[3], '-1', '-1', 'WITHSCORES')[2]
    local place = last and tonumber(last) >= now and tonumber(last) + 1 or now
    mark_crowd()
    call('ZADD', KEYS[3], S(place), token)
    call('HSET', KEYS[4], 't' .. token,
         table.concat({mode, S(slots), S(now), client, whose}, ' '))
end

local function wait_in_line()
    local told = tell_name(at)
    local has_ticket = at.tickets[token]
    if not has_ticket and leaves_ticket() then
        add_ticket()
        has_ticket = true
    end
    if has_ticket then
        if has_ticket ~= true and not has_ticket.has_place then
            call('ZADD', KEYS[3], 'NX', S(has_ticket.since), token)
        end
        touch_ticket(token, now)
    end
    return {'busy', has_ticket and 1 or 0, told}
end

forget_tickets()
local owns = owner == token or (mine and not mine.broken)
if is_offered or (at.is_kept and not owns) then
    tidy()
    return wait_in_line()
end
local entry, slot = may_enter(at, token, mode, slots)
if entry == 'open' then
    return grant(slot)
end
if entry == 'misfit' then
    return {'misfit', slot}
end
return wait_in_line()
