package resource

import (
	"slices"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A CollectionView is a collection in an answer.
type CollectionView struct {
	ID    string // the path below the mount point, with the ARM prefix of the request if it had one
	Name  string
	State string // Enabled, Disabled, Deleted
	*Collection
}

// The JSON of a collection, in its written order.
type (
	collectionJSON struct {
		ID         string               `json:"id,omitempty"`
		Type       string               `json:"type,omitempty"`
		Name       string               `json:"name,omitempty"`
		Location   string               `json:"location,omitempty"`
		Tags       map[string]string    `json:"tags,omitempty"`
		Properties collectionProperties `json:"properties"`
	}
	collectionProperties struct {
		SKU   *collectionSKU        `json:"sku,omitempty"`
		State string                `json:"state,omitempty"`
		Quota collectionQuota       `json:"quota"`
		Chime *collectionExtensions `json:"chime,omitempty"`
	}
	collectionSKU struct {
		Name string `json:"name"`
	}
	collectionQuota struct {
		MaxJobCount      int           `json:"maxJobCount"`
		MaxJobOccurrence int           `json:"maxJobOccurrence,omitempty"`
		MaxRecurrence    maxRecurrence `json:"maxRecurrence"`
	}
	maxRecurrence struct {
		Frequency string `json:"frequency"`
		Interval  int    `json:"interval"`
	}
	collectionExtensions struct {
		Queue       string   `json:"queue,omitempty"`
		Group       string   `json:"group,omitempty"`
		Owner       string   `json:"owner,omitempty"`
		Description string   `json:"description,omitempty"`
		Jobs        []string `json:"jobs,omitempty"`
	}
)

const collectionType = "Microsoft.Scheduler/jobCollections"

// Append appends the answer's JSON, without a newline.
func (v *CollectionView) Append(to []byte) []byte {
	out := v.json()
	out.ID, out.Type, out.Name, out.Properties.State = v.ID, collectionType, v.Name, v.State
	return appendJSON(to, out)
}

// json is the writable part of the collection.
func (c *Collection) json() collectionJSON {
	p := collectionProperties{
		Quota: collectionQuota{
			MaxJobCount: c.Quota.MaxJobCount, MaxJobOccurrence: c.Quota.MaxJobOccurrence,
			MaxRecurrence: maxRecurrence{c.Quota.MaxFrequency, c.Quota.MaxInterval},
		},
	}
	if c.SKU != "" {
		p.SKU = &collectionSKU{c.SKU}
	}
	if c.Queue != "" || c.Group != "" || c.Owner != "" || c.Description != "" || len(c.Jobs) > 0 {
		p.Chime = &collectionExtensions{c.Queue, c.Group, c.Owner, c.Description, c.Jobs}
	}
	return collectionJSON{Location: c.Location, Tags: c.Tags, Properties: p}
}

// Patch applies a merge patch (RFC 7396) to the writable part of the collection, and checks the result as a whole.
func (c *Collection) Patch(text []byte, name string) (*Collection, []problem.Mistake) {
	patch, mistakes := parse(text)
	if mistakes != nil {
		return nil, mistakes
	}
	target, bad := body.Parse(appendJSON(nil, c.json()))
	if bad != nil {
		return nil, []problem.Mistake{*bad}
	}
	content := target.Get("properties")
	if (names(patch, "sku") || names(patch.Get("properties"), "sku")) && c.Quota == quotaOf(c.SKU) {
		content.Members = without(content.Members, "quota") // the quota of the new sku replaces it
	}
	if patch.Get("properties") == nil { // the bare form
		target.Members = append(without(target.Members, "properties"), content.Members...)
	}
	return readCollection(body.Patch(target, patch), name)
}

// names reports whether an object has a key, in any case, even with the value null.
func names(v *body.Value, key string) bool {
	return v != nil && slices.ContainsFunc(v.Members, func(m body.Member) bool { return strings.EqualFold(m.Key, key) })
}
