-- SPDX-License-Identifier: MIT
-- CELL: a value with a version, see cell.h. KEYS[1] is a hash that never
-- expires: version, writer (the token of the last change) and value, which a
-- tombstone lacks. ARGV: 'get' · 'put' or 'delete', token, the version to be
-- replaced, '1' if replicas are waited for, value · 'collect', how long it must
-- have been idle.
-- Replies: {'ok' or 'conflict', version, writer, the value's length, for a get
-- the value itself} · {'ok', how many were deleted: 0 or 1, 0}
-- no record

local LONGEST = 65536 -- HF__CELL_MAX
local what, token = ARGV[1], ARGV[2]
-- The version, and the next one, must stay below 2^53.
local LAST = what == 'get' and 9007199254740991 or 9007199254740990

local found = redis.pcall('HMGET', KEYS[1], 'version', 'writer', 'value')
if found.err then
    return found
end
local text, writer, value = unpack(found)
local version = string.find(text or '', '^[1-9]%d*$') and tonumber(text) or 0

local function is_sound()
    return version > 0 and version <= LAST and writer and #writer == 32 and
           not string.find(writer, '[^0-9a-f]') and
           not (value and #value > LONGEST)
end

-- A cell that somebody has set to expire would lose its version.
local function expires()
    return what ~= 'get' and call('PTTL', KEYS[1]) >= 0
end

if (text or writer or value or call('EXISTS', KEYS[1]) == 1) and
   (not is_sound() or expires()) then
    return redis.error_reply('HOLDFAST the record of a cell is damaged')
end

local function tell(word)
    return {word, version, writer or '',
            value and (what == 'get' and value or #value)}
end

if what == 'collect' then
    local is_idle = version > 0 and not value and
                    version < now - tonumber(ARGV[2])
    return {'ok', is_idle and call('DEL', KEYS[1]) or 0, 0}
end
if what == 'get' then
    return tell('ok')
end

local is_applied = writer == token
if is_applied and ARGV[4] ~= '1' then
    return tell('ok')
end
if not is_applied and version ~= tonumber(ARGV[3]) then
    return tell('conflict')
end
if is_applied or what == 'delete' then
    -- Works when memory is full, and so do the commands after it.
    call('HDEL', KEYS[1], '')
end
if is_applied then
    -- Write it again, for WAIT is about what this connection wrote.
    call('HSET', KEYS[1], 'writer', writer)
    return tell('ok')
end

version = version < now and now or version + 1
writer = token
if what == 'put' then
    value = ARGV[5]
    call(SET, KEYS[1], 'version', S(version), 'writer', writer, 'value', value)
else
    value = false
    call(SET, KEYS[1], 'version', S(version), 'writer', writer)
    call('HDEL', KEYS[1], 'value')
end
return tell('ok')
