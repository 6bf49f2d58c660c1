package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// gitLab is a merge request's thread on GitLab.
type gitLab struct {
	api  *api
	path string // of the notes, below the API's address
}

// openGitLab finds the merge request that a pipeline of GitLab runs for.
func openGitLab(lookup func(string) string) (Thread, error) {
	number := lookup("CI_MERGE_REQUEST_IID")
	if number == "" {
		return nil, ErrNoPullRequest
	}
	g := &gitLab{
		api: &api{
			base: lookup("CI_API_V4_URL"), header: "PRIVATE-TOKEN", secret: lookup("GITLAB_TOKEN"),
			needs: "the scope api, and has to be of this project",
		},
		path: fmt.Sprintf("/projects/%s/merge_requests/%s/notes", url.PathEscape(lookup("CI_PROJECT_ID")), url.PathEscape(number)),
	}
	switch {
	case g.api.secret == "":
		return nil, errors.New("GITLAB_TOKEN is not set: it is a token of the project with the scope api; the job's own, CI_JOB_TOKEN, may not comment")
	case g.api.base == "" || lookup("CI_PROJECT_ID") == "":
		return nil, errors.New("CI_API_V4_URL and CI_PROJECT_ID are not both set, as they are in GitLab's pipelines")
	}
	return g, nil
}

func (g *gitLab) Own(ctx context.Context, prefix string) (string, error) {
	var user struct{ ID int64 }
	if err := g.api.call(ctx, http.MethodGet, g.api.base+"/user", nil, &user); err != nil {
		return "", err
	}
	const perPage = 100
	for page := 1; ; page++ {
		var notes []struct {
			ID     int64
			Body   string
			Author struct{ ID int64 }
		}
		address := fmt.Sprintf("%s%s?per_page=%d&page=%d&sort=asc", g.api.base, g.path, perPage, page)
		if err := g.api.call(ctx, http.MethodGet, address, nil, &notes); err != nil {
			return "", err
		}
		for _, n := range notes {
			if n.Author.ID == user.ID && strings.HasPrefix(n.Body, prefix) {
				return strconv.FormatInt(n.ID, 10), nil
			}
		}
		if len(notes) < perPage {
			return "", nil
		}
	}
}

func (g *gitLab) Create(ctx context.Context, body string) error {
	return g.api.call(ctx, http.MethodPost, g.api.base+g.path, map[string]string{"body": body}, nil)
}

func (g *gitLab) Edit(ctx context.Context, id, body string) error {
	return g.api.call(ctx, http.MethodPut, g.api.base+g.path+"/"+id, map[string]string{"body": body}, nil)
}
