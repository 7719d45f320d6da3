-- SPDX-License-Identifier: MIT
-- What every script begins with: the time, read once. The name's record, which
-- is record.lua, comes behind it.
--
-- Times and durations are µs. They and fences are below 2^53 and so exact:
-- redis.call() writes a number with 17 digits, S() with all of them (Lua's own
-- way has 14). The commands are those of Redis 3.2.

local call = redis.call
if redis.replicate_commands then
    redis.replicate_commands() -- before 5.0: what is done depends on the time
end
local T = call('TIME')
local now = T[1] * 1000000 + T[2]
-- S(now), for less.
local stamp = T[1] ..
              (#T[2] == 6 and T[2] or string.sub('00000' .. T[2], -6))
local DAY = 86400000 -- so many ms a key is kept when nothing in it counts
-- The same, and its reply costs less, once there is setresp: since Redis 6.
local SET = redis.setresp and 'HSET' or 'HMSET'

local function S(n)
    return string.format('%.0f', n)
end

-- For redis.call(); where several operations come, many.lua's is in its place.
local function text_of(n)
    return n
end
