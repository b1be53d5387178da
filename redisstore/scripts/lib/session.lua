-- session: the script's own field in the hash of a worker's session.

-- SELF is the field of …:inflight:<session> that is not a job: "<number of the last call> <first fence it drew> <when the session was
-- renewed, Unix s> <host> <pid> <worker> <padding> <kinds of the jobs in the answer>". The padding begins with + if the session holds a suspect and
-- jobs of other partitions run in its worker. The field is a control character, which no job ID has.
local SELF = '\1'
