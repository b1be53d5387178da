-- oldest_in_line.lua: since when the job of a group waits that has waited longest, among those that run next. It writes nothing.
-- KEYS[1] …:line   zset  "<group>\t<place>\t<job ID>" -> 0: jobs of groups to run now
-- KEYS[2] …:turns  zset  "<tag>\t<group>" -> flights / weight: the groups that may start a job
-- Returns its place, which is an instant, Unix us; 0: there is none of which this is known
-- uses: oldest
return { oldest_in_line(KEYS[1], KEYS[2]) or 0 }
