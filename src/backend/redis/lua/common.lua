-- SPDX-License-Identifier: MIT
-- The beginning of every script: the time, read once. record.lua, the name's
-- record, comes after it.
--
-- Times and durations are µs. They and fences are below 2^53 and so exact:
-- redis.call() writes a number with 17 digits, S() with all of them (Lua itself
-- with 14). Only commands of Redis 3.2 are used.

local call = redis.call
if redis.replicate_commands then
    redis.replicate_commands() -- before 5.0: what is done depends on the time
end
local T = call('TIME')
local now = T[1] * 1000000 + T[2]
-- As S(now), but cheaper.
local stamp = T[1] ..
              (#T[2] == 6 and T[2] or string.sub('00000' .. T[2], -6))
local DAY = 86400000 -- so many ms a key is kept when nothing in it counts
-- HSET does the same with a shorter reply. It is used where setresp exists,
-- since Redis 6.
local SET = redis.setresp and 'HSET' or 'HMSET'

local function S(n)
    return string.format('%.0f', n)
end

-- Prepares a number for redis.call(); many.lua replaces it for several
-- operations.
local function text_of(n)
    return n
end
