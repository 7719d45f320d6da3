-- SPDX-License-Identifier: MIT
-- RELEASE: ends the token's grant, and its ticket. ARGV: token, the fence of
-- its grant or 0, '1' to end a keeping, too; and, up to the last that is not
-- '0': '1' at a quorum's member, '1' if a claim of this token may still be
-- under way, '1' if nobody was ever told of its grant.
-- Replies: the fence · {'ok', fence} · {'lost', why, fence of the last that was
-- broken, name}
-- many

local token, given, reopens = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local is_member, is_unsure = ARGV[4] == '1', ARGV[5] == '1'
local is_ours = owner == token
-- A late renewal of a quorum would recreate this grant unless the record shows
-- that it has ended.
local shows = is_ours and given >= fence

-- include: free.lua

-- Restores the record as it was before this grant, so that renewals can
-- recreate the grant that the name had then, or still has at other members; but
-- the highest fence is kept in `top`. Does nothing if the fence was raised
-- since.
local function undo()
    local gave, its_fence, its_owner, before = string.match(
        call('HGET', KEYS[1], 'was') or '', '^(%d+) (%d+) (%x*);?(.*)$')
    if tonumber(gave or 0) ~= fence or fence == 0 then
        return
    end
    top, more = fence > top and fence or top, '1'
    fence = tonumber(its_fence)
    call('HMSET', KEYS[1], 'fence', its_fence, 'token', its_owner,
         'acquired', '0', 'owner', '{}', 'top', S(top), 'more', '1',
         'was', before)
end

if is_ours then
    set_free()
    if reopens and keep > 0 then
        keep = 0
        call('HSET', KEYS[1], 'keep', '0')
    end
    if is_member and given > fence then
        fence = given
        call('HSET', KEYS[1], 'fence', S(fence))
    end
    if ARGV[6] == '1' then
        undo()
    end
end
if is_ours and not crowd and not is_unsure and (shows or not is_member) and
   call('EXISTS', KEYS[2]) == 0 then
    return fence
end

-- include: compatibility.lua
-- include: wake.lua

-- Leaves a tombstone: commands of this token that are under way must not get
-- the name.
local function bury(us)
    local list = read_void(token)
    make_room(list)
    list[#list + 1] = token .. ':' .. S(now + us)
    if not is_there then
        call('HSET', KEYS[1], 'fence', '0')
    end
    write_void(list)
    retain(KEYS[1], us)
end

local at = look()
restore()
local mine = at.grants[token]
local reply = not is_ours and not (mine and not mine.broken) and lost(at)
local had_ticket = crowd and drop_ticket(token)
if mine then
    call('HDEL', KEYS[4], token)
    if not owner and is_there then
        call('HSET', KEYS[1], 'expires', stamp) -- since when it is free
    end
end
if is_member and not shows then
    bury(60000000) -- a member is disconnected if silent for 2 s
elseif is_unsure then
    bury(600000000)
end
if is_member and not is_ours then
    -- An undo must not restore this token as the owner, either.
    local was = call('HGET', KEYS[1], 'was') or ''
    if string.find(was, token, 1, true) then
        call('HSET', KEYS[1], 'was', (string.gsub(was, token, '')))
    end
end
tidy()

local function take_out(list)
    for i, one in ipairs(list) do
        if one.token == token then
            table.remove(list, i)
            return
        end
    end
end

if not reply or had_ticket then
    take_out(at.holders)
    take_out(at.line)
    at.is_kept = keep > now and #at.holders == 0
    wake(at)
end
return reply or {'ok', fence}
