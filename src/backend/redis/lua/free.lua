-- SPDX-License-Identifier: MIT
-- Whose a name was. It stands behind common.lua, in scripts that need it.

-- The name is nobody's alone, as of now. A server whose memory is full lets
-- what deletes through, and what a script writes after that.
local function set_free()
    local done = redis.pcall(SET, KEYS[1], 'token', '', 'expires', stamp)
    if type(done) == 'table' and done.err then
        call('HDEL', KEYS[1], 'token')
        call('HSET', KEYS[1], 'expires', stamp)
    end
    owner, expires, is_held = false, now, false
end
