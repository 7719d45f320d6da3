-- SPDX-License-Identifier: MIT
-- Wakes waiters. Included behind compatibility.lua, in scripts by which a name
-- may become free.
--
-- A waiter without a ticket is a member of KEYS[2], with the time when it came
-- as its score: the client's mark (16 digits), then 'x', 's' or its number of
-- slots. A message goes to the client's channel, PREFIX;wake:MARK. It has what
-- is woken (the member without the mark; or 't' and the token of a ticket), a
-- space, and the name as stored. If a message reaches nobody, the waiter is
-- gone.

local OFFER = 300000 -- so long only the client that was woken may enter
-- A ticket that was asked for since its client's last look but one is not gone,
-- even if no message reaches it: its connection was lost, or it is about to
-- listen. Looks are 500 ms apart. A ticket younger than YOUNG is not gone,
-- either: its client may not have begun to listen.
local FRESH = 600000
local YOUNG = 1000000
local SLEEPERS = 1000 -- looked at for one wake
local here -- the mark of the client that asks: the reply tells it
local is_leaving -- it does not want to be among the sleepers woken

-- Returns how many clients it reached; nil if this user may not publish.
local function tell(client, what)
    if client == here then
        return 1
    end
    local prefix = string.match(KEYS[1], '^[^:]*')
    local name = string.sub(KEYS[1], #prefix + 3, -2) -- prefix:{name}
    local n = redis.pcall('PUBLISH', prefix .. ';wake:' .. client,
                          what .. ' ' .. prefix .. ':' .. name)
    return type(n) ~= 'table' and n or nil
end

-- True if the ticket was silent for a while and no message reaches its client.
local function is_gone(t, reached)
    return t.seen < now - FRESH and t.since < now - YOUNG and
           (reached or tell(t.client, 't' .. t.token)) == 0
end

-- Passes over the tickets that are gone: those before `ticket`, or all.
local function pass_over(at, ticket)
    local i = 1
    while at.line[i] and at.line[i].token ~= ticket do
        if is_gone(at.line[i]) then
            mark_gone(table.remove(at.line, i))
        else
            i = i + 1
        end
    end
end

-- Wakes the tickets that may enter now. True: some ticket is to go first.
local function wake_line(at)
    local i = 1
    while at.line[i] do
        local t = at.line[i]
        if may_enter(at, t.token, t.mode, t.slots) ~= 'open' then
            return true
        end
        if is_gone(t, tell(t.client, 't' .. t.token) or 1) then
            mark_gone(t)
            table.remove(at.line, i)
        else
            i = i + 1
        end
    end
    return i > 1
end

local function offer_to(client)
    offer, offered = client, now + OFFER
    call('HMSET', KEYS[1], 'offer', client, 'offer_until', offered,
         'more', '1')
end

-- Wakes the first sleeping waiter that may enter, which gets some time to do
-- so, and those that may enter beside it.
local function wake_sleepers(at)
    local same, room = nil, SLEEPERS
    for _, s in ipairs(call('ZRANGE', KEYS[2], '0', S(SLEEPERS - 1))) do
        local client, kind = string.sub(s, 1, 16), string.sub(s, 17)
        local slots = tonumber(kind)
        if not (is_leaving and client == here) and
           (not same or same == kind) and room > 0 and
           may_enter(at, '', slots and 'n' or kind, slots) == 'open' then
            local n = tell(client, kind)
            if not n then
                return
            end
            call('ZREM', KEYS[2], s)
            if n > 0 and kind == 'x' then
                offer_to(client)
                return
            end
            if n > 0 then
                if not same then
                    room = slots and slots - #at.holders or SLEEPERS
                end
                same, room = kind, room - 1
            end
        end
    end
end

-- `at` is the name as it is now, from look().
local function wake(at)
    if is_there and not at.is_kept and not wake_line(at) then
        wake_sleepers(at)
    end
end
