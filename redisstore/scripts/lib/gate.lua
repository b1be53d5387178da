-- gate: while the member CLOSED is in …:idle, in front of all workers, enqueue_one.lua adds nothing: it leaves every job to enqueue.lua,
-- which reads …:state. The gate is closed as long as the queue is paused or has a limit; and after the keys of the partition were
-- deleted, until enqueue.lua is called there. A version that raises the layout closes it in the same step.
local CLOSED = '#closed'
local DELETED = '-2' -- its score after a deletion; otherwise it is -1
