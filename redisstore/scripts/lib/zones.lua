-- zones: the local time for which an occurrence was planned, for rules of days and longer in a time zone.
-- needs: strings seconds

-- An entry of …:zones is "<planned> <offset> <last> <zone>": the occurrence that was placed last, the zone's offset then, in seconds, by the
-- data of the process that placed it, the local time of the occurrence before it that was taken ("-": unknown), and the zone. A local time is
-- what the clocks show, as the Unix second at which a clock in UTC shows the same.
--
-- The entry is written only when an occurrence is placed. A withdrawal sets the cursor to an instant before the occurrence, so the two together
-- show whether the occurrence was taken:
--
--   the cursor is at the planned instant or later ──► it was taken, or nothing will take it: its local time is used up
--   the cursor is before it                        ──► it was withdrawn: only the local time <last> is used up
--
-- Invariant: no two occurrences of such a schedule that are taken have the same local time in the same zone, whatever data their processes have.

-- used_up returns the local time that the entry text of a schedule, whose cursor is at this instant, has used up in a zone; nil: none that is known.
local function used_up(text, at, zone)
  local planned, offset, last, of = match(text or '', '^(%S+Z) (%-?%d+) (%S+) (%S+)$')
  if not planned or of ~= zone or not at then return nil end
  if at >= planned then return (seconds(planned) or 0) + tonumber(offset) end
  return tonumber(last)
end
