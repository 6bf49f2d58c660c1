package pullrequest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrNoPullRequest is the error of Open in a run for something else, such as a push to the main
// branch.
var ErrNoPullRequest = errors.New("this run is not for a pull request")

// Open returns the thread of the pull request that CI runs for. lookup reads a variable of the
// environment.
func Open(lookup func(string) string) (Thread, error) {
	switch {
	case lookup("GITHUB_ACTIONS") == "true":
		return openGitHub(lookup)
	case lookup("GITLAB_CI") == "true":
		return openGitLab(lookup)
	}
	return nil, errors.New("neither GITHUB_ACTIONS nor GITLAB_CI is true: comments are for pull requests of GitHub and merge requests of GitLab")
}

// api calls a service that speaks JSON.
type api struct {
	base           string
	header, secret string // of each request
	needs          string // what a token needs to comment
}

// client follows a redirect only if it asks the same of the same server. Of a POST that moved the
// net/http package makes a GET, whose answer looks like success, and it sends a header with a token
// to any server.
var client = &http.Client{CheckRedirect: func(request *http.Request, via []*http.Request) error {
	first, most := via[0], 10
	if len(via) > most || request.Method != first.Method || request.URL.Scheme != first.URL.Scheme || request.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}}

const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 32 << 20 // bytes; a hundred comments of the largest size are 6.4 MB
)

// call sends a request, and decodes the answer into out unless that is nil. The error for a status
// other than 2xx has the service's message, and never the token.
func (a *api) call(ctx context.Context, method, address string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, address, &body)
	if err != nil {
		return err
	}
	request.Header.Set(a.header, a.secret)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	switch response.StatusCode / 100 {
	case 2:
	case 3:
		return fmt.Errorf("%s %s: %s: it leads to %s: set the address of the API to that", method, address, response.Status, response.Header.Get("Location"))
	default:
		return fmt.Errorf("%s %s: %s%s", method, address, response.Status, a.explain(response.StatusCode, text))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not that of the API, but maybe of a proxy: %w", method, address, err)
	}
	return nil
}

// explain says what a refusal means, with the service's message.
func (a *api) explain(status int, answer []byte) string {
	var said struct {
		Message any `json:"message"`
	}
	text := ""
	if json.Unmarshal(answer, &said) == nil && said.Message != nil {
		text = fmt.Sprintf(" (%v)", said.Message)
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound {
		text += ": the token may not comment; it needs " + a.needs
	}
	return text
}
