-- callers: the score of an enqueuer in …:callers is the Unix second of its last call x ROUND + the number of that call modulo ROUND. Calls of
-- enqueue_one.lua do not change the second: it is older than the last call by at most oneFor, see the store.
local ROUND = 2 ^ 20
local CALLER_S = 3600 -- an enqueuer's last call is remembered for this time: it may be sent again
local OLDEST_CALLER = '1e15' -- a member below is not an enqueuer: #enqueued, the number of all jobs
