-- SPDX-License-Identifier: MIT
-- RENEW: extends a lease that runs. ARGV: token, lease and, for a quorum's
-- member, the fence of our grant, and '1' to recreate the grant if nobody has
-- the name (a majority says that it is ours).
-- Replies: the fence · {'ok', fence, slot} · {'lost', why, fence of the last
-- that was broken, name}
-- many

local token, lease = ARGV[1], tonumber(ARGV[2])

if is_held and owner == token then
    -- In this order: a server whose memory is full still runs PEXPIRE, and what
    -- a script writes after it.
    local longest = keep > now + lease and keep - now or lease
    longest = fence - now > longest and fence - now or longest
    call('PEXPIRE', KEYS[1], text_of(math.ceil(longest / 1000) + DAY))
    call('HSET', KEYS[1], 'expires', text_of(now + lease))
    return fence
end

-- include: compatibility.lua

local at = look()
local mine = at.grants[token]
if mine and not mine.broken and mine.expires > now then
    mine.expires = now + lease
    restore()
    retain(KEYS[1], lease)
    retain(KEYS[4], lease)
    call('HDEL', KEYS[4], '') -- as PEXPIRE above
    put_grant(mine)
    return {'ok', mine.fence, mine.slot}
end

-- A record with our fence but not our token is of a grant that was released:
-- then this renewal is late.
local ours = tonumber(ARGV[3])
if ARGV[4] == '1' and #at.holders == 0 and not mine and
   (fence < ours or (fence == ours and owner == token)) and
   (not at.is_kept or owner == token) and not is_void(token) then
    restore()
    call('HMSET', KEYS[1], 'token', token, 'fence', S(ours),
         'expires', S(now + lease))
    fence = ours
    if owner ~= token then
        call('HMSET', KEYS[1], 'acquired', stamp, 'owner', '{}')
    end
    retain(KEYS[1], lease)
    return {'ok', ours, -1}
end
return lost(at)
