-- callers: the score of an enqueuer in …:callers is the Unix second of its last call x ROUND + the number of that call modulo ROUND.
local ROUND = 2 ^ 20
