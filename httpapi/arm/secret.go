package arm

import (
	"fmt"
	"strings"
)

// A slot is a place for a secret in an action.
type slot struct {
	path     string // action.request.authentication.password
	within   object
	key      string
	optional bool // the API does not need it
}

// empty reports whether the file has no value there.
func (s *slot) empty() bool {
	v := at(s.within, s.key)
	return v == nil || v == ""
}

// credentials are the secret fields of each type of authentication.
var credentials = map[string][]slot{
	"basic":                {{key: "password"}},
	"activedirectoryoauth": {{key: "secret"}},
	"oauth":                {{key: "clientSecret"}},
	"bearer":               {{key: "token"}},
	"clientcertificate":    {{key: "pfx"}, {key: "password", optional: true}},
	"sharedaccesskey":      {{key: "sasKey"}},
}

// slots are the slots of an action and of its error action, in the order of the fields.
func slots(action object, path string) []slot {
	var all []slot
	add := func(within object, path string, of ...slot) {
		for _, s := range of {
			s.within, s.path = within, path+"."+s.key
			all = append(all, s)
		}
	}
	if request := objectAt(action, "request"); request != nil {
		at := path + ".request"
		for _, field := range []string{"secretHeaders", "secretQuery"} {
			named := objectAt(request, field)
			for _, name := range keys(named) {
				all = append(all, slot{path: fmt.Sprintf("%s.%s[%q]", at, field, name), within: named, key: name})
			}
		}
		if a := objectAt(request, "authentication"); a != nil {
			add(a, at+".authentication", credentialsOf(a)...)
		}
		if signing := objectAt(request, "signing"); signing != nil {
			add(signing, at+".signing", slot{key: "secret"}, slot{key: "previousSecret", optional: true})
		}
	}
	if message := objectAt(action, "queueMessage"); message != nil {
		add(message, path+".queueMessage", slot{key: "sasToken"})
	}
	for _, field := range []string{"serviceBusQueueMessage", "serviceBusTopicMessage"} {
		if a := objectAt(action, field, "authentication"); a != nil {
			add(a, path+"."+field+".authentication", slot{key: "sasKey"})
		}
	}
	if after := objectAt(action, "errorAction"); after != nil && !strings.Contains(path, ".errorAction") {
		all = append(all, slots(after, path+".errorAction")...)
	}
	return all
}

func credentialsOf(authentication object) []slot {
	kind := strings.ToLower(textAt(authentication, "type"))
	if kind == "clientcertificate" && at(authentication, "certificate") != nil {
		return []slot{{key: "key"}} // a chain in PEM
	}
	return credentials[kind]
}

// secretsOf are the secrets of one job by their path in it, in lower case, because old files have fields in any case.
func (o *Options) secretsOf(job string) map[string]string {
	found := map[string]string{}
	for key := range o.Secrets {
		if path, ok := strings.CutPrefix(key, job+"/"); ok {
			found[strings.ToLower(path)] = key
		}
	}
	return found
}
