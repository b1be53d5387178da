-- mark: a job that was cancelled while its ID was in ready has a mark in place of its envelope: "\0"; if it was enqueued again, for
-- later, "\0" and the new envelope: then its ID is in due as well, and the entry in ready is void.

-- unmark says what becomes of the i-th candidate, which has a mark: it returns the envelope if the job is to be taken, else nil.
-- ids, from: the candidates and where they come from (nil: ready). It adds to the lists in marks: void (IDs to remove from jobs),
-- stale (IDs to remove from ready, where they are not among the candidates), restored (ID and envelope of each to write).
local function unmark(marks, ids, from, i, text)
  local id = ids[i]
  if text == '\0' then
    marks.void[#marks.void + 1] = id
    return nil
  end
  local in_ready = false
  for j = 1, #ids do in_ready = in_ready or ids[j] == id and not from[j] end
  if not in_ready then marks.stale[#marks.stale + 1] = id end
  local body = string.sub(text, 2)
  marks.restored[#marks.restored + 1] = id
  marks.restored[#marks.restored + 1] = body
  return from[i] and body
end
