-- SPDX-License-Identifier: MIT
-- Several operations of one kind as one step of the server, each as if it were
-- alone: its error is its own reply.
--
-- KEYS are four for each operation. ARGV: for each its token. Before a token,
-- if other arguments differ from those of the operation before, come '!' and a
-- letter for each that differs ('B' for the second …), as one word, and then
-- these arguments. An empty one is not given.
-- Replies: an array of the operations' replies.

-- Ends of leases are often the same in the next operation.
local texts = {}
local function text_of(n)
    local text = texts[n]
    if not text then
        text = S(n)
        texts[n] = text
    end
    return text
end

-- The script, as the function one(KEYS, ARGV).
-- one

local keys, args, replies = {}, {}, {}
local byte = string.byte

-- Reads the arguments that differ; returns the index of the token.
local function take_new(at)
    local new = ARGV[at]
    for i = 2, #new do
        local word = ARGV[at + i - 1]
        args[byte(new, i) - 64] = word ~= '' and word or nil
    end
    return at + #new
end

-- Before Redis 7 an error is a string.
local function as_reply(failure)
    if type(failure) == 'table' then
        return {err = failure.err}
    end
    return {err = 'ERR Error running script: ' .. tostring(failure)}
end

local at = 1
for i = 1, #KEYS, 4 do
    if byte(ARGV[at]) == 33 then
        at = take_new(at)
    end
    args[1] = ARGV[at]
    at = at + 1
    keys[1], keys[2], keys[3], keys[4] =
        KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3]
    local is_done, reply = pcall(one, keys, args)
    replies[#replies + 1] = is_done and reply or as_reply(reply)
end
return replies
