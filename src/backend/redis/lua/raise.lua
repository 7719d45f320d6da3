-- SPDX-License-Identifier: MIT
-- RAISE: makes the grant's fence at least that high, and different from those
-- of other grants at the name. ARGV: token, fence.
-- Replies: {'ok', fence} · {'lost', why, fence of the last that was broken,
-- name}

local given = tonumber(ARGV[2])

-- include: compatibility.lua

if owner == ARGV[1] then
    if given > fence then
        fence = given
        call('HSET', KEYS[1], 'fence', S(fence))
        retain(KEYS[1], 0)
    end
    return {'ok', fence}
end

local at = look()
local mine = at.grants[ARGV[1]]
if not mine or mine.broken then
    return lost(at)
end
if given > mine.fence then
    restore()
    fence = given > fence and given or fence + 1
    mine.fence = fence
    call('HSET', KEYS[1], 'fence', S(fence))
    retain(KEYS[1], 0)
    put_grant(mine)
end
return {'ok', mine.fence}
