package comment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// fakeReviews answers as GitHub and GitLab do, for one pull request.
type fakeReviews struct {
	mu     sync.Mutex
	notes  []note
	writes []string // method and path of each
	refuse bool
}

type note struct {
	id   int
	mine bool
	body string
}

func (f *fakeReviews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gitHub := r.Header.Get("Authorization") == "Bearer secret"
	if f.refuse || !gitHub && r.Header.Get("PRIVATE-TOKEN") != "secret" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"Resource not accessible by integration"}`)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /graphql":
		f.graphQL(w, r)
		return
	case "GET /api/user":
		fmt.Fprint(w, `{"id":7}`)
		return
	case "GET /api/projects/5/merge_requests/12/notes":
		f.list(w, r)
		return
	}
	var in struct{ Body string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.writes = append(f.writes, r.Method+" "+r.URL.Path)
	var id int
	switch {
	case r.Method == http.MethodPost:
		f.notes = append(f.notes, note{len(f.notes) + 1, true, in.Body})
	case gitHub && r.Method == http.MethodPatch:
		_, err := fmt.Sscanf(r.URL.Path, "/api/repos/me/app/issues/comments/%d", &id)
		f.edit(w, id, in.Body, err)
	case !gitHub && r.Method == http.MethodPut:
		_, err := fmt.Sscanf(r.URL.Path, "/api/projects/5/merge_requests/12/notes/%d", &id)
		f.edit(w, id, in.Body, err)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	fmt.Fprint(w, `{}`)
}

func (f *fakeReviews) edit(w http.ResponseWriter, id int, body string, err error) {
	if err != nil || id < 1 || id > len(f.notes) || !f.notes[id-1].mine {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	f.notes[id-1].body = body
}

// graphQL has pages of two comments.
func (f *fakeReviews) graphQL(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Variables struct {
			Owner, Name string
			Number      int
			After       string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Variables.Owner != "me" || in.Variables.Name != "app" || in.Variables.Number != 12 {
		fmt.Fprint(w, `{"errors":[{"message":"Could not resolve to a PullRequest"}]}`)
		return
	}
	from := 0
	_, _ = fmt.Sscan(in.Variables.After, &from)
	to := min(from+2, len(f.notes))
	var nodes []map[string]any
	for _, n := range f.notes[from:to] {
		nodes = append(nodes, map[string]any{"databaseId": n.id, "body": n.body, "viewerDidAuthor": n.mine})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"repository": map[string]any{"pullRequest": map[string]any{"comments": map[string]any{
		"nodes": nodes, "pageInfo": map[string]any{"hasNextPage": to < len(f.notes), "endCursor": fmt.Sprint(to)},
	}}}}})
}

func (f *fakeReviews) list(w http.ResponseWriter, r *http.Request) {
	var page int
	_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
	from := min((page-1)*100, len(f.notes))
	to := min(from+100, len(f.notes))
	all := []map[string]any{}
	for _, n := range f.notes[from:to] {
		author := 8
		if n.mine {
			author = 7
		}
		all = append(all, map[string]any{"id": n.id, "body": n.body, "author": map[string]any{"id": author}})
	}
	_ = json.NewEncoder(w).Encode(all)
}

// inCI starts a fake service, and returns it with the environments of a job of GitHub and one of
// GitLab.
func inCI(t *testing.T) (reviews *fakeReviews, gitHub, gitLab []string) {
	reviews = new(fakeReviews)
	server := httptest.NewServer(reviews)
	t.Cleanup(server.Close)
	event := filepath.Join(t.TempDir(), "event.json")
	require.NoError(t, os.WriteFile(event, []byte(`{"pull_request":{"number":12}}`), 0o600))
	gitHub = []string{
		"GITHUB_ACTIONS=true", "GITHUB_API_URL=" + server.URL + "/api", "GITHUB_GRAPHQL_URL=" + server.URL + "/graphql",
		"GITHUB_REPOSITORY=me/app", "GITHUB_EVENT_PATH=" + event, "GITHUB_TOKEN=secret",
		"GITHUB_SERVER_URL=https://git.example.com", "GITHUB_RUN_ID=99",
	}
	gitLab = []string{
		"GITLAB_CI=true", "CI_API_V4_URL=" + server.URL + "/api", "CI_PROJECT_ID=5", "CI_MERGE_REQUEST_IID=12", "GITLAB_TOKEN=secret",
		"CI_JOB_URL=https://git.example.com/me/app/-/jobs/4",
	}
	return reviews, gitHub, gitLab
}

// reportOf writes the report of a run with an outcome.
func reportOf(t *testing.T, o outcome.Outcome) string {
	dir := t.TempDir()
	text, err := json.Marshal(&outcome.Run{Schema: outcome.Schema, Outcome: o, ExitCode: outcome.ExitCode(o), Problems: []string{"the outcome is " + string(o)}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "leakgate.json"), text, 0o600))
	return dir
}

func runComment(env []string, args ...string) (code int, text string) {
	var b bytes.Buffer
	code = Run(&cli.Context{Stdout: &b, Stderr: &b, Env: env}, args)
	return code, b.String()
}

// Each run edits the same comment, among comments of others that look the same.
func TestComment(t *testing.T) {
	red, green := reportOf(t, outcome.Regression), reportOf(t, outcome.Pass)
	for name, first := range map[string]int{"github": 1, "gitlab": 150} {
		t.Run(name, func(t *testing.T) {
			reviews, gitHub, gitLab := inCI(t)
			env, create, edit, link := gitHub, "POST /api/repos/me/app/issues/12/comments", "PATCH /api/repos/me/app/issues/comments/", "(https://git.example.com/me/app/actions/runs/99#artifacts)"
			if name == "gitlab" {
				env, create, edit, link = gitLab, "POST /api/projects/5/merge_requests/12/notes", "PUT /api/projects/5/merge_requests/12/notes/", "(https://git.example.com/me/app/-/jobs/4/artifacts/browse)"
			}
			for i := range first {
				reviews.notes = append(reviews.notes, note{id: i + 1, body: "<!-- leakgate -->\nsomebody else's"})
			}

			code, text := runComment(env, green)
			require.Equal(t, 0, code, text)
			require.Equal(t, "no comment: all passed, and there is none of an earlier run to edit\n", text)
			require.Empty(t, reviews.writes)

			code, text = runComment(env, red)
			require.Equal(t, 0, code, text)
			require.Equal(t, "comment created\n", text)
			reviews.notes = append(reviews.notes, note{id: first + 2, body: "thanks"})

			code, text = runComment(env, green)
			require.Equal(t, 0, code, text)
			require.Equal(t, "comment edited\n", text)
			body := reviews.notes[first].body
			require.True(t, strings.HasPrefix(body, "<!-- leakgate -->\n"), body)
			require.Equal(t, 1, strings.Count(body, "<!-- leakgate -->"))
			require.Contains(t, body, "leakgate: pass")
			require.Contains(t, body, link)

			code, text = runComment(env, "-key", "race", "-link", "https://example.com/x", red)
			require.Equal(t, 0, code, text)
			require.Equal(t, []string{create, edit + fmt.Sprint(first+1), create}, reviews.writes)
			body = reviews.notes[first+2].body
			require.True(t, strings.HasPrefix(body, "<!-- leakgate race -->\n"), body)
			require.Contains(t, body, "(https://example.com/x)")
		})
	}
}

// A comment that cannot be made is an error that says why, and never contains the token.
func TestCommentRefused(t *testing.T) {
	red := reportOf(t, outcome.Regression)
	reviews, gitHub, gitLab := inCI(t)
	push := filepath.Join(t.TempDir(), "push.json")
	require.NoError(t, os.WriteFile(push, []byte(`{"ref":"refs/heads/main"}`), 0o600))
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		want string
	}{
		"no CI":                      {nil, []string{red}, 2, "neither GITHUB_ACTIONS nor GITLAB_CI is true"},
		"a push":                     {append(gitHub, "GITHUB_EVENT_PATH="+push), []string{red}, 0, "no comment: this run is not for a pull request"},
		"a branch's pipeline":        {append(gitLab, "CI_MERGE_REQUEST_IID="), []string{red}, 0, "no comment: this run is not for a pull request"},
		"no token":                   {append(gitHub, "GITHUB_TOKEN="), []string{red}, 2, "GITHUB_TOKEN is not set"},
		"no token of GitLab":         {append(gitLab, "GITLAB_TOKEN="), []string{red}, 2, "GITLAB_TOKEN is not set"},
		"another token":              {append(gitHub, "GITHUB_TOKEN=topsecret"), []string{red}, 2, "403 Forbidden (Resource not accessible by integration): the token may not comment"},
		"another token of GitLab":    {append(gitLab, "GITLAB_TOKEN=topsecret"), []string{red}, 2, "the token may not comment; it needs the scope api"},
		"no event":                   {append(gitHub, "GITHUB_EVENT_PATH=/nowhere"), []string{red}, 2, "GITHUB_EVENT_PATH: open /nowhere"},
		"another repository":         {append(gitHub, "GITHUB_REPOSITORY=you/app"), []string{red}, 2, "Could not resolve to a PullRequest"},
		"no service":                 {append(gitHub, "GITHUB_GRAPHQL_URL=http://127.0.0.1:1/graphql"), []string{red}, 2, "looking for an earlier comment: "},
		"no report":                  {gitHub, []string{t.TempDir()}, 2, "leakgate run leaves a report"},
		"two reports":                {gitHub, []string{red, red}, 2, "comment takes one report"},
		"a key that ends the marker": {gitHub, []string{"-key", "a --> b", red}, 2, `-key "a --> b"`},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := runComment(c.env, c.args...)
			assert.Equal(t, c.code, code, text)
			assert.Contains(t, text, c.want)
			assert.NotContains(t, text, "secret")
		})
	}
	assert.Empty(t, reviews.writes)
}

// A POST that is redirected would become a GET, and the token of GitLab would go to any server.
func TestCommentMoved(t *testing.T) {
	red := reportOf(t, outcome.Regression)
	reviews, _, gitLab := inCI(t)
	mux := http.NewServeMux()
	mux.Handle("/api/", reviews)
	mux.HandleFunc("/old/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "/old/", "/api/", 1), http.StatusMovedPermanently)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler(server.URL+"/api/user", http.StatusTemporaryRedirect))
	defer elsewhere.Close()

	code, text := runComment(append(gitLab, "CI_API_V4_URL="+server.URL+"/old"), red)
	assert.Equal(t, 2, code, text)
	assert.Contains(t, text, "writing the comment: POST ")
	assert.Contains(t, text, "301 Moved Permanently: it leads to /api/projects/5/merge_requests/12/notes")

	code, text = runComment(append(gitLab, "CI_API_V4_URL="+elsewhere.URL), red)
	assert.Equal(t, 2, code, text)
	assert.Contains(t, text, "307 Temporary Redirect: it leads to "+server.URL)
	assert.Empty(t, reviews.writes)
}
