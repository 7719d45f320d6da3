-- SPDX-License-Identifier: MIT
-- BREAK: ends the grant with that fence, or all grants, or a keeping. ARGV: '',
-- fence or 0, the fence that a quorum proposes for the next grant or 0.
-- Replies: {'ok', fence, the name or the grant as it was} · {'conflict', name}

-- include: seize.lua
-- include: free.lua
-- include: compatibility.lua
-- include: wake.lua

local meant = tonumber(ARGV[2])
local at = look()
restore()
local told = tell_name(at)
local n = 0

for _, g in ipairs(at.holders) do
    if meant == 0 or meant == g.fence then
        n = n + 1
        if meant ~= 0 then
            told = tell_grant(g, g.fence)
        end
        if g.mode == 'x' then
            set_free()
            call('HSET', KEYS[1], 'broken', S(g.fence))
        else
            g.broken = true
            call('HDEL', KEYS[4], '') -- goes through when memory is full
            put_grant(g)
        end
    end
end
if n == 0 and not (at.is_kept and (meant == 0 or meant == fence)) then
    return {'conflict', told}
end
if n == 0 and owner then
    set_free() -- its lease was over, but it kept the name
end
keep, fence = 0, next_fence(tonumber(ARGV[3]))
call('HDEL', KEYS[1], 'keep')
call('HMSET', KEYS[1], 'fence', S(fence), 'expires', stamp)
wake(look())
return {'ok', fence, told}
