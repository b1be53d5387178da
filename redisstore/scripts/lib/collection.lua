-- collection: the record of a collection, as …:records stores it: JSON with its fields in one order, so that a pattern finds them. States:
--   none --put--> enabled, disabled     enabled <--put--> disabled     either --put--> deleted     deleted --delete, no names left--> none
-- A put that changes the state begins a transition, whose number is the revision that the put has drawn. The process that completes the
-- transition finishes it; the deletion of the record finishes the transition of a deleted collection.
-- After every script: …:index, …:swept and …:records have the same collections; …:unfinished has those whose transition is not 0, with that
-- number; …:names has names only of a collection with a record, and gets none while that is deleted; no number is drawn twice; …:owned has
-- "<owner>\t<collection>" for each record with an owner.
-- needs: clock
local MAX_COLLECTIONS = 10000
local DRAWN = '#drawn' -- the field of …:records with the number drawn last; no collection has that name
local RECORD = '^{"version":1,"creation":(%d+),"revision":(%d+),"state":"(%l+)","transition":(%d+),"max_names":(%d+),'
  .. '"created_ms":(%d+),"changed_ms":(%d+),"token":"(%w*)",()'
local OWNER = '^"owner":"([^"]+)",()' -- a record without an owner does not have it

-- read_collection parses a record; nil if it does not have the format of these scripts.
local function read_collection(text)
  local creation, revision, state, transition, max_names, created_ms, changed_ms, token, at = string.match(text, RECORD)
  if not creation or string.sub(text, -1) ~= '}' then return nil end
  local owner, data = string.match(string.sub(text, at), OWNER)
  if owner then at = at + data - 1 end
  if string.sub(text, at, at + 6) ~= '"data":' then return nil end
  return {
    creation = creation, revision = revision, state = state, transition = transition, max_names = max_names,
    created_ms = created_ms, changed_ms = changed_ms, token = token, owner = owner or '',
    data = string.sub(text, at + 7, -2),
  }
end

-- strange returns the error for a record that does not have the format of these scripts: a newer program wrote it, or it was edited by hand.
local function strange(name)
  return redis.error_reply('CHIMELAYOUT the record of collection ' .. name .. ' is of a newer program, or was changed by hand: it stays as it is')
end

-- instant_text returns a score of …:swept as a text of digits: a server may write a large one with an exponent.
local function instant_text(score)
  return score and whole(tonumber(score)) or ''
end

-- owned returns the member of …:owned for a collection.
local function owned(owner, name)
  return owner .. '\t' .. name
end

-- collection_text returns the record to store; its numbers are texts.
local function collection_text(c)
  return '{"version":1,"creation":' .. c.creation .. ',"revision":' .. c.revision .. ',"state":"' .. c.state .. '","transition":' .. c.transition
    .. ',"max_names":' .. c.max_names .. ',"created_ms":' .. c.created_ms .. ',"changed_ms":' .. c.changed_ms .. ',"token":"' .. c.token
    .. '",' .. (c.owner ~= '' and '"owner":"' .. c.owner .. '",' or '') .. '"data":' .. c.data .. '}'
end
