-- void: the mark of an occurrence that was cancelled before its instant. It is in …:jobs in place of a body, while the occurrence remains in due.
-- needs: strings

-- The mark is the byte 0 and the second in which the schedule was created. It counts for this schedule only, and not for a later one of the same
-- name. A layout before 4 wrote the byte alone, which counts for every schedule. The creation is compared, not the generation: a schedule that moves
-- away and back has another generation, and what was cancelled remains cancelled.

-- void_mark returns the mark of an occurrence of a schedule that was created then.
local function void_mark(created)
  return '\0' .. sub(created or '', 1, 19)
end

-- is_mark_of_void reports whether a body is such a mark.
local function is_mark_of_void(body)
  return byte(body, 1) == 0
end

-- voids reports whether a mark counts for a schedule that was created then.
local function voids(mark, created)
  return #mark == 1 or sub(mark, 2) == sub(created or '', 1, 19)
end
