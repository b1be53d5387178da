-- manual_settle: the effect of settlements of work.lua on manual runs and on jobs that follow the ends of others, see the piece manual.
-- needs: strings envelope history manual

-- begin_follower records that a job follows the end of a job of the schedule name that was planned for this instant. follower, body: its ID and
-- its envelope.
local function begin_follower(past, follower, body, name, planned)
  local behind, from = after(body, 3)
  begin_manual(past, follower, name, planned, 'd' .. (from and sub(body, from, behind - 1) or '?'))
end

-- settle_manual records the effect of a settlement of work.lua on such a job, and that another job follows the end of a schedule's job. id,
-- name, planned, kind, run, annex: the same as for settle of the piece settle, which was called before; kind r: it was replaced. now: the time as
-- text, Unix ms.
local function settle_manual(past, id, name, planned, kind, run, annex, now)
  local job = past.manual[id]
  if annex and annex.follower and (name or job) then
    begin_follower(past, annex.follower, annex.o, name or job.name, planned or job.planned)
  end
  if not job then return end
  if kind == 'c' then run = 'cancelled|' .. (match(run, '|(.*)$') or now .. '|' .. now) end
  run_manual(past, id, run)
  if find('dxcre', kind, 1, true) then end_manual(past, id) end
end
