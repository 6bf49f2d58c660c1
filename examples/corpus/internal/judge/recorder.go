package judge

import (
	"fmt"
	"regexp"
	"strings"
)

// A recorder stands for the test that AssertNoGrowth runs in, and records its messages.
type recorder struct {
	name    string
	failed  bool
	message string
	logs    string
}

func (r *recorder) Helper()       {}
func (r *recorder) Name() string  { return r.name }
func (r *recorder) Failed() bool  { return r.failed }
func (r *recorder) Skipped() bool { return false }

func (r *recorder) Logf(format string, args ...any) {
	r.logs += "log: " + fmt.Sprintf(format, args...) + "\n"
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.message += fmt.Sprintf(format, args...) + "\n"
}

// found reports whether the message is about growth. AssertNoGrowth also fails if it could not
// tell.
func (r *recorder) found() bool {
	return r.failed && strings.Contains(r.message, " with every call of op")
}

// head is the first finding: its title, and the lines below it up to a blank one.
func (r *recorder) head() string {
	_, findings, _ := strings.Cut(r.message, "\n\n")
	head, _, _ := strings.Cut(findings, "\n\n")
	return head
}

func (r *recorder) names(c Case) bool {
	return regexp.MustCompile(c.Culprit).MatchString(r.head()) && strings.Contains(r.message, c.Also)
}
