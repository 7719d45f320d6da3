-- SPDX-License-Identifier: MIT
-- The grants and tickets at a name, and the rule by which claims enter, which
-- is that of compatibility.c. Included behind common.lua, where a script needs
-- it.
--
-- KEYS[3] is a sorted set, the queued tokens by arrival. KEYS[4] is a hash:
--   TOKEN     a grant beside others: lock_mode, slots, slot, fence, end of the
--             lease, acquired, broken, owner as JSON. It stays when it is over
--             until a later grant, so that its owner can learn why
--   t TOKEN   a ticket: lock_mode, slots, since, client, owner
--   s TOKEN   when the ticket was last asked for
-- Modes are 'x' (exclusive), 's' (shared), 'n' (slots).

-- include: keep.lua

local PATIENCE = 1000000 -- HF__TICKET_PATIENCE_MS
local KEEP = 60000000 -- HF__TICKET_KEEP_MS

-- ---- reading

local function read_grant(at, token, text)
    local mode, slots, slot, its_fence, till, since, is_broken, who =
        string.match(text, '^([sn]) (%d+) (%-?%d+) (%d+) (%d+) (%d+) ' ..
                           '([01]) (.*)$')
    if not mode then
        at.is_damaged = true
        return
    end
    local g = {token = token, mode = mode, slots = tonumber(slots),
               slot = tonumber(slot), fence = tonumber(its_fence),
               expires = tonumber(till), since = tonumber(since),
               broken = is_broken == '1', who = who}
    at.grants[token] = g
    if g.expires > now and not g.broken then
        at.holders[#at.holders + 1] = g
    end
end

local function read_ticket(at, token, text, seen)
    local mode, slots, since, client, who =
        string.match(text, '^([xsn]) (%d+) (%d+) (%S*) (.*)$')
    seen = tonumber(seen)
    if mode and seen then
        at.tickets[token] = {token = token, mode = mode,
                             slots = tonumber(slots), since = tonumber(since),
                             client = client, who = who, seen = seen}
    end
end

-- at.line gets the live tickets in queue order, and the asking token's;
-- at.passed gets the others, also those that lost their place together with
-- KEYS[3].
local function read_line(at, facts, seen)
    for token, text in pairs(facts) do
        read_ticket(at, token, text, seen[token])
    end
    for _, token in ipairs(call('ZRANGE', KEYS[3], '0', '-1')) do
        local t = at.tickets[token]
        if t then
            t.has_place = true
        end
        if t and (t.seen + PATIENCE > now or token == ARGV[1]) then
            at.line[#at.line + 1] = t
        else
            at.passed[#at.passed + 1] = token
        end
    end
    for token, t in pairs(at.tickets) do
        if not t.has_place then
            at.passed[#at.passed + 1] = token
        end
    end
end

local function read_participants(at)
    local flat = call('HGETALL', KEYS[4])
    local facts, seen = {}, {}
    for i = 1, #flat, 2 do
        local kind = string.sub(flat[i], 1, 1)
        if kind == 't' then
            facts[string.sub(flat[i], 2)] = flat[i + 1]
        elseif kind == 's' then
            seen[string.sub(flat[i], 2)] = flat[i + 1]
        else
            read_grant(at, flat[i], flat[i + 1])
        end
    end
    if next(facts) then
        read_line(at, facts, seen)
    end
end

-- Reads everything at the name: holders and grants (also those that are over),
-- queue and tickets (also those that are passed over). What the record has is
-- taken from the script's variables.
local function look()
    local at = {holders = {}, grants = {}, line = {}, tickets = {}, passed = {}}
    is_held = owner and expires > now
    if is_held then
        at.holders[1] = {token = owner, mode = 'x', slots = 0, slot = -1,
                         fence = fence, expires = expires}
    end
    if crowd then
        read_participants(at)
    end
    if not is_there then
        for _, g in pairs(at.grants) do
            fence = g.fence > fence and g.fence or fence
        end
    end
    at.is_kept = keep > now and #at.holders == 0
    return at
end

-- ---- the rule

-- Can the two be granted at the same time? As hf__lock_modes_compatible().
local function agree(a_mode, a_slots, b_mode, b_slots)
    return a_mode == b_mode and a_mode ~= 'x' and
           (a_mode == 's' or a_slots == b_slots)
end

-- The lowest slot that is free after `before` others get theirs; nil: none.
local function slot_left(at, token, slots, before)
    local taken, lowest = {}, nil
    for _, g in ipairs(at.holders) do
        if g.token ~= token then
            taken[g.slot] = true
        end
    end
    for slot = 0, slots - 1 do
        if not taken[slot] then
            lowest = lowest or slot
            if before == 0 then
                return lowest
            end
            before = before - 1
        end
    end
    return nil
end

-- As pass_holders(): nil, or why it cannot enter.
local function held_up(at, token, mode, slots)
    for _, g in ipairs(at.holders) do
        if g.token ~= token and not agree(g.mode, g.slots, mode, slots) then
            if g.mode == 'n' and mode == 'n' then
                return 'misfit', g.slots
            end
            return 'held', -1
        end
    end
    if mode == 'n' and not slot_left(at, token, slots, 0) then
        return 'held', -1
    end
    return nil
end

-- As hf__may_enter(): 'open' and the slot (or −1), 'held', 'promised', or
-- 'misfit' and how many slots the holders share.
local function may_enter(at, token, mode, slots)
    local entry, slot = held_up(at, token, mode, slots)
    local before = 0
    if entry then
        return entry, slot
    end
    for _, t in ipairs(at.line) do
        if t.token == token then
            break
        end
        if not agree(t.mode, t.slots, mode, slots) then
            return 'promised', -1
        end
        before = before + 1
    end
    if mode ~= 'n' then
        return 'open', -1
    end
    slot = slot_left(at, token, slots, before)
    return slot and 'open' or 'promised', slot or -1
end

-- ---- changing

-- Deletes KEYS[3] and the field `crowd` if KEYS[4] is gone: there are no shared
-- grants, slots or tickets any more.
local function tidy()
    if crowd and call('EXISTS', KEYS[4]) == 0 then
        call('DEL', KEYS[3])
        call('HDEL', KEYS[1], 'crowd')
        crowd = false
    end
end

-- If somebody deleted the record but not KEYS[4], writes the record again,
-- before anything else is written. Call after look().
local function restore()
    if crowd and not is_there and
       not redis.pcall('HMSET', KEYS[1], 'fence', S(fence), 'crowd', '1',
                       'more', '1').err then
        is_there, more = S(fence), '1'
        retain(KEYS[1], KEEP)
    end
end

local function put_grant(g)
    call('HSET', KEYS[4], g.token, table.concat({g.mode, S(g.slots), S(g.slot),
         S(g.fence), S(g.expires), S(g.since), g.broken and '1' or '0',
         g.who}, ' '))
end

-- Notes when the ticket's claim was last asked for, or waited.
local function touch_ticket(token, seen)
    call('HSET', KEYS[4], 's' .. token, S(seen))
    for _, key in ipairs({KEYS[1], KEYS[3], KEYS[4]}) do
        if call('PTTL', key) < DAY then
            retain(key, KEEP)
        end
    end
end

-- Passes the ticket over until it is asked for again; it stays in the queue.
local function mark_gone(t)
    t.seen = now - PATIENCE
    touch_ticket(t.token, t.seen)
end

local function drop_ticket(token)
    call('HDEL', KEYS[4], 't' .. token, 's' .. token)
    return call('ZREM', KEYS[3], token) == 1
end

-- ---- replies

-- Appends the owner.
local function tell_owner(told, json)
    local is_read, who = pcall(cjson.decode, json)
    if not is_read or type(who) ~= 'table' then
        who = {}
    end
    for i, what in ipairs({'label', 'host', 'thread', 'note', 'pid'}) do
        told[8 + i] = who[what] or ''
    end
    return told
end

-- State, fence, µs left, mode, slots, slot, token, acquired, label, host,
-- thread, note, pid. For a name that nobody holds it ends after the µs.
local function tell_grant(g, its_fence)
    local since, who = g.since, g.who
    if g.mode == 'x' then
        since, who = unpack(call('HMGET', KEYS[1], 'acquired', 'owner'))
    end
    return tell_owner({'held', its_fence, g.expires - now, g.mode, g.slots,
                       g.slot, g.token, tonumber(since or 0) or 0}, who or '')
end

-- The reply about the name: of several holders, the one whose lease ends first.
local function tell_name(at)
    local first = at.holders[1]
    for _, g in ipairs(at.holders) do
        if g.expires < first.expires then
            first = g
        end
    end
    if first then
        return tell_grant(first, fence)
    end
    if at.is_kept then
        return {'kept', fence, keep - now}
    end
    for _, t in ipairs(at.line) do
        if t.seen + PATIENCE > now then
            return {'promised', fence, -1}
        end
    end
    if offer and offered > now then
        return {'promised', fence, offered - now}
    end
    return {is_there and 'free' or 'none', top > fence and top or fence, 0}
end

-- The reply if the token does not own the name: why, as far as is known.
local function lost(at)
    local g = at.grants[ARGV[1]]
    local why = ''
    if g then
        why = g.broken and 'broken' or 'expired'
    elseif owner == ARGV[1] then
        why = 'expired'
    end
    local broken = call('HGET', KEYS[1], 'broken')
    return {'lost', why, tonumber(broken or 0) or 0, tell_name(at)}
end
