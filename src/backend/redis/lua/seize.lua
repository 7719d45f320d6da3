-- SPDX-License-Identifier: MIT
-- Grants a name exclusively. Included behind common.lua, where a script needs
-- it.

local FENCE_END = 9007199254740992

-- As hf__fence_after(). A quorum's members should give the same fence, so its
-- proposal is accepted if it is higher than that, and at most 0.5 s ahead of
-- the clock.
local function next_fence(proposal)
    local highest = top > fence and top or fence
    local after = highest + 1
    if highest >= FENCE_END then
        return highest
    end
    if after < now then
        after = now
    end
    if proposal > after and proposal <= now + 500000 then
        after = proposal
    end
    return after
end

-- Grants the name to the token alone, with `fence`; `whose` is the owner as
-- JSON.
local function seize(token, lease, keeping, whose, since)
    local longest = lease > keeping and lease or keeping
    longest = fence - now > longest and fence - now or longest
    call(SET, KEYS[1], 'token', token,
         'fence', fence == now and stamp or fence,
         'expires', text_of(now + lease), 'acquired', since, 'owner', whose)
    if keeping > 0 or keep > 0 then
        keep = keeping > 0 and now + keeping or 0
        call('HSET', KEYS[1], 'keep', keep)
    end
    call('PEXPIRE', KEYS[1], text_of(math.ceil(longest / 1000) + DAY))
    owner, expires, is_held = token, now + lease, true
end
