-- SPDX-License-Identifier: MIT
-- The name's record, as an operation finds it. It comes behind common.lua in
-- every script; in those for several operations once, run for each.
--
-- KEYS: 1 the record, a hash; 2 the sleeping waiters, see wake.lua; 3 the queue
-- and 4 grants beside one another, see compatibility.lua. ARGV[1] is the asking
-- token, or ''. Only the fields that every name has are read; the field `more`
-- says that there may be others, and `crowd` among them that keys 3 and 4 may
-- exist. So a name with a single holder costs one short read. The reply to its
-- claims is only the fence, for an array costs the server as much as a command.
-- Without a record it is checked whether key 4 exists: somebody may have
-- deleted one of a name's keys.

local found = redis.pcall('HMGET', KEYS[1], 'token', 'fence', 'expires', 'keep',
    'more')
if found.err then -- as of who locks with SET … NX PX: what is it, till when?
    if not string.find(found.err, 'WRONGTYPE', 1, true) then
        return found
    end
    local kind = redis.pcall('TYPE', KEYS[1]) -- a user may be denied it
    local left = redis.pcall('PTTL', KEYS[1])
    left = tonumber(left) and (left < 0 and ' that never expires' or
        ' that expires in ' .. math.ceil(left / 1000) .. ' s') or ''
    return redis.error_reply('HOLDFAST its key is ' ..
        (kind.ok and 'a ' .. kind.ok or 'no hash') .. left)
end
local owner, fence, expires, keep, more = unpack(found)
local crowd, offer, offered, void, top
if more then
    crowd, offer, offered, void, top = unpack(call('HMGET', KEYS[1], 'crowd',
        'offer', 'offer_until', 'void', 'top'))
end
if not fence and call('EXISTS', KEYS[1], KEYS[4]) > 0 then
    if call('EXISTS', KEYS[1]) == 1 then
        return redis.error_reply('HOLDFAST its key is a hash of something else')
    end
    crowd = '1' -- they are beside one another still
end
local is_there = fence
fence, expires = tonumber(fence or 0), tonumber(expires or 0)
keep, offered = tonumber(keep or 0), tonumber(offered or 0)
top = tonumber(top or 0) -- the highest fence given, where that was undone
if not (fence and expires and keep and offered and top) then
    return redis.error_reply('HOLDFAST its record is damaged')
end
if owner == '' then
    owner = false
end
-- Does the token have a tombstone, so that it may not get the name? See
-- keep.lua.
local function is_void(token)
    return void and
           tonumber(string.match(void, token .. ':(%d+)') or 0) > now
end
-- Held exclusively.
local is_held = owner and expires > now
