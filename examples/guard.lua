-- SPDX-License-Identifier: MIT
-- KEYS: the data, the highest fence that wrote it; ARGV: a fence, new data.
-- 1: written; 0: the fence is late, and nothing was changed.
local fence, last = ARGV[1], redis.call('GET', KEYS[2]) or '0'
if not string.match(fence, '^[1-9]%d*$') or tonumber(fence) >= 2^53 or
   not string.match(last, '^%d+$') then
    return redis.error_reply('ERR ARGV[1] or KEYS[2] is no fence')
end
if tonumber(fence) < tonumber(last) then
    return 0
end
redis.call('MSET', KEYS[1], ARGV[2], KEYS[2], fence)
return 1
