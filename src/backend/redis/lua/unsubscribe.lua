-- SPDX-License-Identifier: MIT
-- UNSUBSCRIBE: no claim of the client waits for the name in that lock mode any
-- more. If the client was woken, another one is woken in its place, unless the
-- name was taken since; not the client itself, which does not listen while it
-- sends this, and looks again for its other claims on the name. ARGV: '', the
-- client's mark, the lock mode as in subscribe.lua, '1' if it was woken.
-- Replies: {'ok'}

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
