-- SPDX-License-Identifier: MIT
-- COLLECT: deletes the name if nobody has held it for that long, nobody waits,
-- and the clock has passed its fence, so that the next fence is higher. ARGV:
-- '', how long.
-- Replies: {'ok', how many were deleted: 0 or 1, how many of these had expired}

-- include: compatibility.lua

local at = look()
local since = expires -- it is over, or was freed
local is_awaited = false
local has_expired = owner

for _, g in pairs(at.grants) do
    has_expired = has_expired or not g.broken
    if not g.broken and g.expires > since then
        since = g.expires
    end
end
-- A ticket stays for a while for a claim that returns; sleeping waiters look
-- from time to time.
for _, t in pairs(at.tickets) do
    is_awaited = is_awaited or t.seen + KEEP > now
end
if call('ZCOUNT', KEYS[2], S(now - KEEP), '+inf') > 0 then
    is_awaited = true
end
if not is_there or #at.holders > 0 or at.is_kept or is_awaited or
   at.is_damaged or #read_void() > 0 or fence >= now or top >= now or
   since + tonumber(ARGV[2]) > now then
    return {'ok', 0, 0}
end
call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
return {'ok', 1, has_expired and 1 or 0}
