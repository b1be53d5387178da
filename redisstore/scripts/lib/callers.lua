-- callers: the score of an enqueuer in …:callers is the Unix second of its last call x ROUND + the number of that call modulo ROUND. Calls of
-- enqueue_one.lua leave the second as it is: at most so much earlier as the store says in oneFor.
local ROUND = 2 ^ 20
local CALLER_S = 3600 -- an enqueuer's last call is remembered for so long: it may be sent again
local OLDEST_CALLER = '1e15' -- what is below is no enqueuer: #enqueued, the number of jobs ever
