package action

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	tokenMargin = time.Minute // a token is not used in this time before its expiry
	maxTokens   = 10_000
)

// tokens are access tokens in memory, until a minute before they expire. The key is the job and everything that the token was got with.
type tokens struct {
	mu   sync.Mutex
	kept map[[32]byte]*oauth2.Token
}

// tokenRequest returns the request for the token of an authentication; ok is false if it needs none.
func tokenRequest(a *Authentication, authority string) (config clientcredentials.Config, ok bool) {
	switch {
	case a == nil:
		return config, false
	case a.Type == ActiveDirectoryOAuth:
		return clientcredentials.Config{
			ClientID: a.ClientID, ClientSecret: a.Secret.text, AuthStyle: oauth2.AuthStyleInParams,
			TokenURL: authority + "/" + a.Tenant + "/oauth2/v2.0/token", Scopes: []string{strings.TrimSuffix(a.Audience, "/") + "/.default"},
		}, true
	case a.Type == OAuth:
		config = clientcredentials.Config{ClientID: a.ClientID, ClientSecret: a.ClientSecret.text, TokenURL: a.TokenURL, Scopes: a.Scopes, AuthStyle: oauth2.AuthStyleInHeader}
		if a.Style == StyleBody {
			config.AuthStyle = oauth2.AuthStyleInParams
		}
		if a.Audience != "" {
			config.EndpointParams = url.Values{"audience": {a.Audience}}
		}
		return config, true
	}
	return config, false
}

func tokenKey(job string, c *clientcredentials.Config) [32]byte {
	return sha256.Sum256([]byte(owner(job, c.TokenURL, c.ClientID, c.ClientSecret, strings.Join(c.Scopes, " "), c.EndpointParams.Encode(), fmt.Sprint(c.AuthStyle))))
}

// get returns a stored token, or gets a new one by client. An error of the token's endpoint contains only its status, because the body may contain secrets.
func (t *tokens) get(ctx context.Context, job string, config *clientcredentials.Config, client *http.Client) (string, error) {
	key := tokenKey(job, config)
	t.mu.Lock()
	token := t.kept[key]
	t.mu.Unlock()
	if token != nil && time.Until(token.Expiry) > tokenMargin {
		return token.AccessToken, nil
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	var refused *oauth2.RetrieveError
	var unanswered *requestError
	const noToken = tokenEndpoint + "its answer is not a token"
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		return "", &requestError{fmt.Sprintf("%sstatus %d", tokenEndpoint, refused.Response.StatusCode), nil}
	case errors.As(err, &unanswered):
		return "", &requestError{tokenEndpoint + unanswered.reason, unanswered.detail}
	case err != nil:
		return "", &requestError{noToken, err}
	case strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "", &requestError{noToken, nil}
	}
	if !token.Expiry.IsZero() && time.Until(token.Expiry) > tokenMargin {
		t.keep(key, token)
	}
	return token.AccessToken, nil
}

// keep makes room: it drops expired tokens first, and then any.
func (t *tokens) keep(key [32]byte, token *oauth2.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[[32]byte]*oauth2.Token{}
	}
	if len(t.kept) >= maxTokens {
		for k, old := range t.kept {
			if time.Until(old.Expiry) <= tokenMargin {
				delete(t.kept, k)
			}
		}
		for k := range t.kept {
			if len(t.kept) < maxTokens {
				break
			}
			delete(t.kept, k)
		}
	}
	t.kept[key] = token
}

// drop removes a token that was refused.
func (t *tokens) drop(job string, config *clientcredentials.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kept, tokenKey(job, config))
}
