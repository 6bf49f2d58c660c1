// Package results has the commands that read what runs have left: diff, merge and view.
package results
