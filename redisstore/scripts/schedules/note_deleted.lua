-- note_deleted.lua: record when a deletion of a schedule began, and that it was carried out, and remove old records.
-- Model: NOTE_BODY in models/home.pml.
-- KEYS[1] …:deleted  zset  schedule -> when its deletion began, Unix ms; schedule and a tab -> when its definition was deleted; schedule and two tabs
-- -> an instant after its creation, if that was not earlier than the deletion
-- ARGV[1] records up to this instant are removed, Unix ms; ARGV[2] and on: instant, member
-- Returns 1.
local DELETED = KEYS[1]
redis.call('ZREMRANGEBYSCORE', DELETED, '-inf', ARGV[1]) -- comes first: it makes the other write possible when the server is out of memory
redis.call('ZADD', DELETED, 'GT', unpack(ARGV, 2))
return 1
