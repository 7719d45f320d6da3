-- SPDX-License-Identifier: MIT
-- Ends an exclusive grant. Included behind common.lua, where a script needs it.

-- From now on nobody holds the name exclusively. A server whose memory is full
-- still runs commands that delete, and what a script writes after them.
local function set_free()
    local done = redis.pcall(SET, KEYS[1], 'token', '', 'expires', stamp)
    if type(done) == 'table' and done.err then
        call('HDEL', KEYS[1], 'token')
        call('HSET', KEYS[1], 'expires', stamp)
    end
    owner, expires, is_held = false, now, false
end
