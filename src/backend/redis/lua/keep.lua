-- SPDX-License-Identifier: MIT
-- The tombstones beside the grant, and how long keys live. Included behind
-- common.lua, where a script needs it.

-- A key lives as long as what is in it, and a day. The record lives at least
-- until the clock has passed its fence: without it the next fence is the
-- clock's.
local function retain(key, us)
    if key == KEYS[1] and fence - now > us then
        us = fence - now
    end
    local ms = math.ceil(us / 1000) + DAY
    if call('PTTL', key) < ms then
        call('PEXPIRE', key, ms)
    end
end

-- The field `void` has tombstones: tokens that were given back and may not get
-- the name any more, each with the time until which it is kept, because a claim
-- may still be under way. Returns all that are still valid, except for one
-- token's.
local function read_void(but)
    local list = {}
    for token, till in string.gmatch(void or '', '(%x+):(%d+)') do
        if tonumber(till) > now and token ~= but then
            list[#list + 1] = token .. ':' .. till
        end
    end
    return list
end

-- The number of tombstones of a name is limited, since they last for ten
-- minutes: those that end first are dropped first.
local VOIDS = 1024
local function make_room(list)
    while #list >= VOIDS do
        local at, first = 1
        for i, one in ipairs(list) do
            local till = tonumber(string.match(one, ':(%d+)'))
            if not first or till < first then
                at, first = i, till
            end
        end
        table.remove(list, at)
    end
end

local function write_void(list)
    void = #list > 0 and table.concat(list, ' ')
    if void then
        call('HMSET', KEYS[1], 'void', void, 'more', '1')
        more = '1'
    else
        call('HDEL', KEYS[1], 'void')
    end
end

local function tidy_void()
    local list = read_void()
    if table.concat(list, ' ') ~= void then
        write_void(list)
    end
end
