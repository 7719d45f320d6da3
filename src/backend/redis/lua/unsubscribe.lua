-- SPDX-License-Identifier: MIT
-- Nobody of a client waits for the name any more in that lock_mode. If it was
-- woken, somebody else is in its place, unless the name was taken since; not
-- the client itself, which does not listen while it says so, and looks at what
-- else of it waits for the name. ARGV: '', the client's mark, how it wanted the
-- name, '1' if it was woken.
-- {'ok'}

local client, kind = ARGV[2], ARGV[3]
local is_woken = ARGV[4] == '1'

call('ZREM', KEYS[2], client .. kind)
if kind == 'x' and offer == client then
    is_woken = is_woken or offered > now
    call('HDEL', KEYS[1], 'offer', 'offer_until')
    offer = false
end
local is_taken = is_held or (offer and offered > now)
if not (is_there and is_woken) or is_taken then
    return {'ok'}
end

-- include: compatibility.lua
-- include: wake.lua

here, is_leaving = client, true
wake(look())
return {'ok'}
