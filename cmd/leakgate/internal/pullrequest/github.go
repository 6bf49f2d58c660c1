package pullrequest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// gitHub is a pull request's thread on GitHub.
type gitHub struct {
	api        *api
	graphQL    string
	repository string // owner/name
	number     int
}

// openGitHub finds the pull request that a workflow of GitHub Actions runs for.
func openGitHub(lookup func(string) string) (Thread, error) {
	number, err := pullRequestNumber(lookup("GITHUB_EVENT_PATH"))
	if err != nil {
		return nil, err
	}
	g := &gitHub{
		api: &api{
			base: lookup("GITHUB_API_URL"), header: "Authorization", secret: "Bearer " + lookup("GITHUB_TOKEN"),
			needs: "the permission pull-requests: write, which runs for forks never have",
		},
		graphQL:    lookup("GITHUB_GRAPHQL_URL"),
		repository: lookup("GITHUB_REPOSITORY"),
		number:     number,
	}
	switch {
	case lookup("GITHUB_TOKEN") == "":
		return nil, errors.New("GITHUB_TOKEN is not set: give the step the job's token, with the permission pull-requests: write")
	case g.api.base == "" || g.graphQL == "" || strings.Count(g.repository, "/") != 1:
		return nil, errors.New("GITHUB_API_URL, GITHUB_GRAPHQL_URL and GITHUB_REPOSITORY are not all set, as they are in GitHub Actions")
	}
	return g, nil
}

// pullRequestNumber reads the number from the event that started the workflow.
func pullRequestNumber(file string) (int, error) {
	var event struct {
		PullRequest struct {
			Number int `json:"number"`
		} `json:"pull_request"`
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("the event of the workflow, GITHUB_EVENT_PATH: %w", err)
	}
	if err := json.Unmarshal(text, &event); err != nil {
		return 0, fmt.Errorf("the event of the workflow, %s: %w", file, err)
	}
	if event.PullRequest.Number == 0 {
		return 0, ErrNoPullRequest
	}
	return event.PullRequest.Number, nil
}

// Own uses GraphQL, since only there GitHub tells which comments the token's owner wrote. Anybody
// could write a comment that begins with the same marker.
func (g *gitHub) Own(ctx context.Context, prefix string) (string, error) {
	const query = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      comments(first: 100, after: $after) {
        nodes { databaseId body viewerDidAuthor }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`
	owner, name, _ := strings.Cut(g.repository, "/")
	variables := map[string]any{"owner": owner, "name": name, "number": g.number}
	for {
		var answer struct {
			Data struct {
				Repository struct {
					PullRequest struct {
						Comments struct {
							Nodes []struct {
								DatabaseID      int64 `json:"databaseId"`
								Body            string
								ViewerDidAuthor bool
							}
							PageInfo struct {
								HasNextPage bool
								EndCursor   string
							}
						}
					}
				}
			}
			Errors []struct{ Message string }
		}
		if err := g.api.call(ctx, http.MethodPost, g.graphQL, map[string]any{"query": query, "variables": variables}, &answer); err != nil {
			return "", err
		}
		if len(answer.Errors) > 0 {
			return "", fmt.Errorf("%s: %s", g.graphQL, answer.Errors[0].Message)
		}
		comments := answer.Data.Repository.PullRequest.Comments
		for _, c := range comments.Nodes {
			if c.ViewerDidAuthor && strings.HasPrefix(c.Body, prefix) {
				return strconv.FormatInt(c.DatabaseID, 10), nil
			}
		}
		if !comments.PageInfo.HasNextPage {
			return "", nil
		}
		variables["after"] = comments.PageInfo.EndCursor
	}
}

func (g *gitHub) Create(ctx context.Context, body string) error {
	return g.api.call(ctx, http.MethodPost, fmt.Sprintf("%s/repos/%s/issues/%d/comments", g.api.base, g.repository, g.number), map[string]string{"body": body}, nil)
}

func (g *gitHub) Edit(ctx context.Context, id, body string) error {
	return g.api.call(ctx, http.MethodPatch, fmt.Sprintf("%s/repos/%s/issues/comments/%s", g.api.base, g.repository, id), map[string]string{"body": body}, nil)
}
