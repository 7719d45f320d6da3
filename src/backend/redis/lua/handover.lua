-- SPDX-License-Identifier: MIT
-- HANDOVER: from the token to the next one, unless other grants are beside it
-- or other tickets are queued. ARGV: token, lease, keeping, the next token,
-- owner as JSON.
-- Replies: the fence · {'busy', 0, name}, also if the next token was given back
-- already · {'lost', why, fence of the last that was broken, name}

local heir = ARGV[4]
local is_over = is_void(heir)

-- include: seize.lua

local function pass_on()
    fence = next_fence(0)
    seize(heir, tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5], stamp)
    return fence
end

if is_held and owner == ARGV[1] and not crowd and not is_over then
    return pass_on()
end

-- include: compatibility.lua

local at = look()
local mine = at.grants[ARGV[1]]
if mine and not mine.broken and mine.expires > now then
    return {'busy', 0, tell_name(at)}
end
if not is_held or owner ~= ARGV[1] then
    return lost(at)
end
if is_over then
    return {'busy', 0, tell_name(at)}
end
for _, t in ipairs(at.line) do
    if t.token ~= heir then
        return {'busy', 0, tell_name(at)}
    end
end
drop_ticket(heir)
tidy()
return pass_on()
