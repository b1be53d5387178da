package action

import (
	"slices"
)

// An AuthenticationType is the way in which a request authenticates.
type AuthenticationType string

// The types of authentication.
const (
	NotSpecified         AuthenticationType = "NotSpecified"         // none
	Basic                AuthenticationType = "Basic"                // Username and Password
	ClientCertificate    AuthenticationType = "ClientCertificate"    // PFX and Password, or Certificate and Key
	ActiveDirectoryOAuth AuthenticationType = "ActiveDirectoryOAuth" // Tenant, Audience, ClientID and Secret: a token of Microsoft Entra ID
	OAuth                AuthenticationType = "OAuth"                // TokenURL, ClientID, ClientSecret: a token by the client credentials of OAuth 2
	Bearer               AuthenticationType = "Bearer"               // Token
)

// The places of OAuth's client credentials.
const (
	StyleHeader = "header" // as Basic; the default
	StyleBody   = "body"   // as parameters of the form
)

// An Authentication is the credentials of a request. The fields of its Type are set, the others are empty.
type Authentication struct {
	Type     AuthenticationType `json:"type"`               // empty: NotSpecified
	Username string             `json:"username,omitempty"` // of Basic, without ":"
	Password Secret             `json:"password,omitzero"`  // of Basic; of a PFX, which is not stored

	PFX         Secret `json:"pfx,omitzero"`          // of ClientCertificate: base64 of PKCS #12, 32 KiB at most. Prepare converts it to Certificate and Key
	Certificate string `json:"certificate,omitempty"` // of ClientCertificate: the chain in PEM, the client's certificate first
	Key         Secret `json:"key,omitzero"`          // of ClientCertificate: the private key in PEM, not encrypted
	unopened    bool   // the PFX is not to be opened, see Unopened
	Thumbprint  string `json:"certificateThumbprint,omitempty"`     // SHA-1 of the certificate, in hex; Prepare sets it
	Subject     string `json:"certificateSubjectName,omitempty"`    // of the certificate; Prepare sets it
	Expires     string `json:"certificateExpirationDate,omitempty"` // of the certificate, RFC 3339; Prepare sets it

	Tenant       string   `json:"tenant,omitempty"`      // of ActiveDirectoryOAuth: a GUID or a host name
	Audience     string   `json:"audience,omitempty"`    // of ActiveDirectoryOAuth; of OAuth a parameter that some services want
	ClientID     string   `json:"clientId,omitempty"`    // of both
	Secret       Secret   `json:"secret,omitzero"`       // of ActiveDirectoryOAuth
	TokenURL     string   `json:"tokenUrl,omitempty"`    // of OAuth: the absolute URL that issues tokens
	ClientSecret Secret   `json:"clientSecret,omitzero"` // of OAuth
	Scopes       []string `json:"scopes,omitempty"`      // of OAuth
	Style        string   `json:"style,omitempty"`       // of OAuth: StyleHeader or StyleBody
	Token        Secret   `json:"token,omitzero"`        // of Bearer
}

// An authField is a field of an authentication: the types that may have it, and whether it is set.
type authField struct {
	name     string
	set      bool
	needed   []AuthenticationType
	optional []AuthenticationType
}

// fields are the fields of an authentication, in the order of the struct. Required secrets are in secrets.
func (a *Authentication) fields() []authField {
	some := func(types ...AuthenticationType) []AuthenticationType { return types }
	return []authField{
		{"username", a.Username != "", some(Basic), nil},
		{"password", !a.Password.IsZero(), nil, some(Basic, ClientCertificate)},
		{"pfx", !a.PFX.IsZero(), nil, some(ClientCertificate)},
		{"certificate", a.Certificate != "", some(ClientCertificate), nil},
		{"key", !a.Key.IsZero(), nil, some(ClientCertificate)},
		{"tenant", a.Tenant != "", some(ActiveDirectoryOAuth), nil},
		{"audience", a.Audience != "", some(ActiveDirectoryOAuth), some(OAuth)},
		{"clientId", a.ClientID != "", some(ActiveDirectoryOAuth, OAuth), nil},
		{"secret", !a.Secret.IsZero(), nil, some(ActiveDirectoryOAuth)},
		{"tokenUrl", a.TokenURL != "", some(OAuth), nil},
		{"clientSecret", !a.ClientSecret.IsZero(), nil, some(OAuth)},
		{"scopes", len(a.Scopes) > 0, nil, some(OAuth)},
		{"style", a.Style != "", nil, some(OAuth)},
		{"token", !a.Token.IsZero(), nil, some(Bearer)},
	}
}

func (f authField) allowed(t AuthenticationType) bool {
	return slices.Contains(f.needed, t) || slices.Contains(f.optional, t)
}

type authSecret struct {
	field    string
	secret   *Secret
	required bool
}

// secrets are the secrets of the authentication's type, and all secrets that are set.
func (a *Authentication) secrets() []authSecret {
	all := []authSecret{
		{"password", &a.Password, a.Type == Basic}, {"pfx", &a.PFX, false}, {"key", &a.Key, a.Type == ClientCertificate && a.PFX.IsZero()},
		{"secret", &a.Secret, a.Type == ActiveDirectoryOAuth}, {"clientSecret", &a.ClientSecret, a.Type == OAuth}, {"token", &a.Token, a.Type == Bearer},
	}
	return slices.DeleteFunc(all, func(s authSecret) bool { return !s.required && s.secret.IsZero() })
}

// owner is everything that decides who receives the secrets: the type, the identity, and the origins of the request and the token's request.
func (a *Authentication) owner(to string) string {
	return owner("authentication", string(a.Type), to, a.Username, a.Certificate, a.Tenant, a.Audience, a.ClientID, origin(a.TokenURL), a.TokenURL)
}

// hasHeader reports whether the authentication uses the header Authorization.
func (a *Authentication) hasHeader() bool {
	return a != nil && slices.Contains([]AuthenticationType{Basic, ActiveDirectoryOAuth, OAuth, Bearer}, a.Type)
}

// none reports whether there is no authentication.
func (a *Authentication) none() bool { return a == nil || a.Type == "" || a.Type == NotSpecified }

// keepCertificate copies the certificate of old if the client sent neither a certificate nor a PFX.
func (a *Authentication) keepCertificate(old *Authentication) {
	if a.Type == ClientCertificate && old.Type == ClientCertificate && a.Certificate == "" && a.PFX.IsZero() && a.Key.IsZero() {
		a.Certificate, a.Thumbprint, a.Subject, a.Expires = old.Certificate, old.Thumbprint, old.Subject, old.Expires
	}
}
