// Package pullrequest keeps one comment on a pull request of GitHub, or on a merge request of
// GitLab: it is written once and edited from then on.
package pullrequest

import (
	"context"
	"fmt"
)

// A Thread is the discussion of one pull request.
type Thread interface {
	// Own returns the ID of the first comment that the token's owner wrote and that begins with
	// prefix, "" if there is none.
	Own(ctx context.Context, prefix string) (id string, err error)
	Create(ctx context.Context, body string) error
	Edit(ctx context.Context, id, body string) error
}

// Outcomes of Put.
const (
	Created  = "created"
	Edited   = "edited"
	Needless = "needless"
)

// Put edits the comment that begins with marker, or creates it, with body below the marker. Where
// there is no such comment and quiet is set, nothing is written: without news, no comment is
// needed.
func Put(ctx context.Context, thread Thread, marker, body string, quiet bool) (outcome string, err error) {
	body = marker + "\n" + body
	id, err := thread.Own(ctx, marker)
	switch {
	case err != nil:
		return "", fmt.Errorf("looking for an earlier comment: %w", err)
	case id != "":
		outcome, err = Edited, thread.Edit(ctx, id, body)
	case quiet:
		return Needless, nil
	default:
		outcome, err = Created, thread.Create(ctx, body)
	}
	if err != nil {
		return "", fmt.Errorf("writing the comment: %w", err)
	}
	return outcome, nil
}
