-- envelope: how scripts read a job's envelope, which is a byte for its version and a msgpack array (see the Go package wire).
-- needs: strings

-- readable reports whether it is one that the functions below can read. The second version is that of a job that expires: see the piece expiry. A
-- sealed envelope has 16 more: its payload and the texts of its errors are sealed, which scripts do not read.
local function readable(body)
  local version = body and byte(body, 1)
  return version == 1 or version == 2 or version == 17 or version == 18
end

-- after returns the position behind the number, the text or the nil that begins at a position of an envelope, and where its text begins;
-- nil: another type begins there.
local function after(body, at)
  local kind = byte(body, at)
  if not kind then return nil end
  if kind < 0x80 or kind >= 0xe0 or kind == 0xc0 then return at + 1 end
  if kind >= 0xa0 and kind < 0xc0 then return at + kind - 0x9f, at + 1 end
  if kind >= 0xcc and kind <= 0xd3 then return at + 1 + 2 ^ (kind % 4) end
  local width = ({ [0xc4] = 1, [0xc5] = 2, [0xc6] = 4, [0xd9] = 1, [0xda] = 2, [0xdb] = 4 })[kind]
  if not width or #body < at + width then return nil end
  local length = 0
  for i = 1, width do length = 256 * length + byte(body, at + i) end
  return at + 1 + width + length, at + 1 + width
end

-- schedule_in returns the schedule that an envelope names; nil: none, or it cannot be read.
local function schedule_in(body)
  if not readable(body) then return nil end
  local fields, at = (byte(body, 2) or 0) - 0x90, 3
  if fields < 7 or fields > 15 then return nil end
  for _ = 1, 6 do
    at = after(body, at)
    if not at then return nil end
  end
  local behind, from = after(body, at)
  return from and behind <= #body + 1 and sub(body, from, behind - 1) or nil
end

-- planned_in returns when a job was enqueued to run, or due, according to its envelope, Unix ms; nil: not in it, or it cannot be read.
local function planned_in(body)
  if not readable(body) then return nil end
  local at = after(body, 3)
  at = at and after(body, at)
  if not at or byte(body, at) ~= 0xcf or #body < at + 8 then return nil end
  local ms = 0
  for i = 1, 8 do ms = 256 * ms + byte(body, at + i) end
  return ms
end

-- failures_in returns how many attempts of a job have failed, according to its envelope; 0: not in it, or it cannot be read.
local function failures_in(body)
  if not readable(body) then return 0 end
  local fields, at = (byte(body, 2) or 0) - 0x90, 3
  if fields < 6 or fields > 15 then return 0 end
  for _ = 1, 5 do
    at = after(body, at)
    if not at then return 0 end
  end
  local kind = byte(body, at)
  if not kind or kind < 0x80 then return kind or 0 end
  if kind < 0xcc or kind > 0xcf then return 0 end
  local n = 0
  for i = at + 1, after(body, at) - 1 do n = 256 * n + (byte(body, i) or 0) end
  return n < 2 ^ 31 and n or 0
end
