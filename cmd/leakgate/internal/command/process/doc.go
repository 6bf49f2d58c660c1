// Package process is the command scan, which looks into another process, once or while it runs.
package process
