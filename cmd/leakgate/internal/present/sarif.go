package present

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// maxSARIFResults is how many results GitHub takes of one run.
const maxSARIFResults = 5000

// SARIF writes what assertions found as SARIF 2.1.0, for code scanning. A leak that several tests
// find is one result, where its root is declared; the assertions that found it are related
// locations. Places are relative to the repository's root, %SRCROOT%. Failures that have nothing to
// do with what is retained are not in it.
type SARIF struct{}

// The parts of SARIF that are used, by the names of its specification.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		InformationURI  string      `json:"informationUri"`
		SemanticVersion string      `json:"version,omitempty"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		Name                 string             `json:"name"`
		ShortDescription     sarifText          `json:"shortDescription"`
		FullDescription      sarifText          `json:"fullDescription"`
		Help                 sarifText          `json:"help"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ExitCode                   int                 `json:"exitCode"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations,omitempty"`
		RelatedLocations    []sarifLocation   `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Message          *sarifText         `json:"message,omitempty"`
		PhysicalLocation sarifPhysical      `json:"physicalLocation"`
		LogicalLocations []sarifLogicalPart `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogicalPart struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// sarifRules are all rules, in the order of their indexes.
var sarifRules = []sarifRule{
	newSARIFRule(outcome.RuleBound, "RetainedMoreThanAllowed", "error", "More is retained than a bound allows",
		"Clear the reference that the path ends at, or widen the bound in the test."),
	newSARIFRule(outcome.RuleGrowth, "MemoryGrowsWithEachCall", "error", "Memory grows with every call of an operation",
		"Release what each call adds. A cache that fills up needs Warmup, or a limit."),
	newSARIFRule(outcome.RuleCollected, "ReachableThoughDone", "error", "An object that should be garbage is still reachable",
		"Clear a reference on the path to it; those that are suspect have a mark in the test's message."),
	newSARIFRule(outcome.RuleAllocs, "AllocatesMoreThanAllowed", "error", "An operation allocates more than a bound allows",
		"Reuse what each call allocates, or widen the bound in the test."),
	newSARIFRule(outcome.RuleGolden, "RetainedMoreThanGolden", "error", "More is retained than the golden file allows",
		"Clear the reference that the path ends at, or accept it with: leakgate run -update."),
	newSARIFRule(outcome.RuleMissingGolden, "GoldenFileMissing", "error", "A test has no golden file",
		"Make it with leakgate run -update, review it and commit it."),
	newSARIFRule(outcome.RuleRetained, "RetainedUnexpectedly", "error", "Memory is retained that should not be",
		"The test's message has the path from the root."),
	newSARIFRule(outcome.RuleMisuse, "AssertionIsWrong", "error", "An assertion is wrong itself, and checks nothing",
		"The test's message says what is wrong, such as a root that does not exist."),
	newSARIFRule(outcome.RuleResource, "ResourcesGrow", "error", "Descriptors, threads, child processes, mappings or files are left over",
		"Close, wait for or remove what each call adds; the test's message says what it is and who has it."),
	newSARIFRule(outcome.RuleUnknown, "CouldNotTell", "warning", "It could not be told what is retained",
		"The message has the cause and the way out."),
}

func newSARIFRule(rule outcome.Rule, name, level, short, help string) sarifRule {
	return sarifRule{
		ID: string(rule), Name: name, ShortDescription: sarifText{short}, FullDescription: sarifText{short + "."},
		Help: sarifText{help}, DefaultConfiguration: sarifConfiguration{level},
	}
}

// Present implements Presenter.
func (SARIF) Present(w io.Writer, run *outcome.Run) error {
	invocation := sarifInvocation{ExecutionSuccessful: run.Outcome == outcome.Pass || run.Outcome == outcome.Regression, ExitCode: run.ExitCode}
	for _, text := range run.Problems {
		invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{"error", sarifText{text}})
	}
	results, left := sarifResults(run)
	if left > 0 {
		text := fmt.Sprintf("%d more results are left out: there may be %d", left, maxSARIFResults)
		invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{"warning", sarifText{text}})
	}
	log := sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{sarifDriver{
				Name: "leakgate", InformationURI: "https://github.com/leakgate/leakgate", SemanticVersion: run.Leakgate, Rules: sarifRules,
			}},
			Invocations: []sarifInvocation{invocation},
			Results:     results,
			ColumnKind:  "utf16CodeUnits",
		}},
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(log)
}

// sarifResults returns the results, one for each fingerprint, and how many were left out.
func sarifResults(run *outcome.Run) (results []sarifResult, left int) {
	results = []sarifResult{} // null would say that the tool did not run
	byFingerprint := make(map[string]int)
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		for _, f := range a.Findings {
			test := p.ImportPath + "." + a.Test
			if i, seen := byFingerprint[f.Fingerprint]; seen {
				results[i].relate(f, p, a, test)
				continue
			}
			if len(results) == maxSARIFResults {
				left++
				continue
			}
			byFingerprint[f.Fingerprint] = len(results)
			results = append(results, newSARIFResult(f, p, a, test))
		}
	})
	return results, left
}

func newSARIFResult(f outcome.Finding, p *outcome.Package, a *outcome.Assertion, test string) sarifResult {
	r := sarifResult{
		RuleID: string(f.Rule), Level: "error",
		Message:             sarifText{f.Text + "\nfound by " + test},
		PartialFingerprints: map[string]string{"leakgate/v1": f.Fingerprint},
	}
	for i, rule := range sarifRules {
		if rule.ID == r.RuleID {
			r.RuleIndex, r.Level = i, rule.DefaultConfiguration.Level
		}
	}
	if f.File != "" {
		l := newSARIFLocation(f.File, f.Line)
		l.LogicalLocations = []sarifLogicalPart{{cmp.Or(f.Path, test)}}
		r.Locations = []sarifLocation{l}
	}
	if f.Declared {
		r.relate(f, p, a, test)
	}
	return r
}

// relate adds the assertion that found a leak. A test's file lies in its package's folder.
func (r *sarifResult) relate(f outcome.Finding, p *outcome.Package, a *outcome.Assertion, test string) {
	if a.File == "" || strings.HasPrefix(a.File, "/") || strings.HasPrefix(a.File, "../") || len(r.RelatedLocations) == 20 {
		return
	}
	file := a.File
	if p.Dir != "" && p.Dir != "." {
		file = p.Dir + "/" + a.File
	}
	if !f.Declared && f.File != "" {
		file = f.File
	}
	l := newSARIFLocation(file, a.Line)
	l.Message = &sarifText{"found by " + test}
	r.RelatedLocations = append(r.RelatedLocations, l)
}

func newSARIFLocation(file string, line int) sarifLocation {
	l := sarifLocation{PhysicalLocation: sarifPhysical{
		ArtifactLocation: sarifArtifact{URI: (&url.URL{Path: file}).EscapedPath(), URIBaseID: "%SRCROOT%"},
	}}
	if line > 0 {
		l.PhysicalLocation.Region = &sarifRegion{line}
	}
	return l
}
