-- session: what the scripts know of a worker's session.

-- SELF is the field of …:inflight:<session> that is no job: "<number of the last call> <first fence it drew> <when the session was
-- renewed, Unix s> <host> <pid> <worker> <padding> <kinds that the call answered>". It is a control character, which no job ID has.
local SELF = '\1'
