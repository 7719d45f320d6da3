-- SPDX-License-Identifier: MIT
-- SUBSCRIBE: a waiter looks and, if it has to wait, becomes a sleeping waiter.
-- ARGV: its ticket or '', the client's mark, the lock mode ('x', 's', or the
-- number of slots), '1' if it listens. What the waiter saw before is ignored:
-- otherwise none would come to sleep where many want a name that is never held
-- for long.
-- Replies: {'look', is_offered}: it may enter, or its ticket is gone ·
-- {'wait', for how many µs at most, or -1 if nothing limits it}

local ticket, client, kind = ARGV[1], ARGV[2], ARGV[3]
local listens = ARGV[4] == '1'
local slots = tonumber(kind)
local mode = slots and 'n' or kind

local function go()
    if ticket == '' then
        call('ZREM', KEYS[2], client .. kind)
    end
    return {'look', (offer == client and offered > now) and 1 or 0}
end

-- Without memory for it, the waiter still looks again after a while.
local function enter()
    if ticket == '' and listens then
        redis.pcall('ZADD', KEYS[2], 'NX', S(now), client .. kind)
        redis.pcall('PEXPIRE', KEYS[2], '60000')
    end
end

local function stay(us)
    enter()
    return {'wait', us}
end

if not is_there then
    return go()
end
local is_offered = offer and offered > now and offer ~= client
if not crowd and is_held then
    return stay(expires - now)
end

-- include: compatibility.lua
-- include: wake.lua

local at = look()
if at.is_damaged or (ticket ~= '' and
   not (at.tickets[ticket] and at.tickets[ticket].has_place)) then
    return go()
end
if ticket ~= '' then
    at.tickets[ticket].seen = now
    touch_ticket(ticket, now)
end

-- µs until a holder's lease ends, or until a ticket ahead in the queue was
-- silent for `after`; -1: there is none.
local function soonest(list, field, after)
    local first
    for _, one in ipairs(list) do
        if one.token == ticket then
            break
        end
        local till = one[field] + after
        first = (not first or till < first) and till or first
    end
    return first and first - now or -1
end

if at.is_kept then
    return stay(keep - now)
end
local entry = may_enter(at, ticket, mode, slots)
if entry == 'held' then
    return stay(soonest(at.holders, 'expires', 0))
end
if entry == 'promised' and listens then
    here = client
    pass_over(at, ticket)
    entry = may_enter(at, ticket, mode, slots)
end
if entry == 'promised' then
    local us = listens and soonest(at.line, 'seen', FRESH) or -1
    return stay(us > 0 and us or soonest(at.line, 'seen', PATIENCE))
end
if is_offered then
    return stay(offered - now)
end
if entry == 'open' and ticket == '' and listens then
    -- A lease ended and nobody was told: the waiter that has slept longest goes
    -- first.
    here = client
    enter()
    if not (offer == client and offered > now) then
        wake_sleepers(at)
    end
    if offer and offered > now and offer ~= client then
        return {'wait', offered - now}
    end
end
return go()
