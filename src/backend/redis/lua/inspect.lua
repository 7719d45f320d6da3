-- SPDX-License-Identifier: MIT
-- INSPECT: the holders and the queue of the name. ARGV: '', '1' to list all.
-- Replies: {'ok', name, holders by slot and age …, tickets in queue order …}

-- include: compatibility.lua

local at = look()
local reply = {'ok', tell_name(at)}
if ARGV[2] ~= '1' then
    return reply
end
table.sort(at.holders, function(a, b)
    if a.slot ~= b.slot then
        return a.slot < b.slot
    end
    if a.since ~= b.since then
        return a.since < b.since
    end
    return a.fence < b.fence
end)
for _, g in ipairs(at.holders) do
    reply[#reply + 1] = tell_grant(g, g.fence)
end
for _, t in ipairs(at.line) do
    reply[#reply + 1] = tell_owner({'waiting', 0, -1, t.mode, t.slots, -1, '',
                                    t.since}, t.who)
end
return reply
