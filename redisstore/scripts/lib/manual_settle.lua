-- manual_settle: what settlements of work.lua make of manual runs and of what follows deaths, see the piece manual.
-- needs: strings envelope history manual

-- begin_death notes that a job follows the death of one of the schedule name which was planned for this instant. death, body: its ID and its
-- envelope.
local function begin_death(past, death, body, name, planned)
  local behind, from = after(body, 3)
  begin_manual(past, death, name, planned, 'd' .. (from and sub(body, from, behind - 1) or '?'))
end

-- settle_manual notes what a settlement of work.lua makes of such a job, and that another one follows the death of a schedule's job. id,
-- name, planned, kind, run, annex: as settle of the piece settle gets them; kind r: it was replaced. now: the time as text, Unix ms.
local function settle_manual(past, id, name, planned, kind, run, annex, now)
  local job = past.manual[id]
  if kind == 'x' and annex and annex.o and (name or job) then
    begin_death(past, id .. '#dead-' .. annex.fence, annex.o, name or job.name, planned or job.planned)
  end
  if not job then return end
  if kind == 'c' then run = 'cancelled|' .. (match(run, '|(.*)$') or now .. '|' .. now) end
  run_manual(past, id, run)
  if find('dxcr', kind, 1, true) then end_manual(past, id) end
end
