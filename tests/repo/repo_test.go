// Package repo_test has the rules about the repository itself: which files there are, what imports what, and what documents and scripts name.
package repo_test

// root is where every test goes first, to read files by their paths from the root of the repository. A TestMain that went there would do it before
// the go command watches which files a test reads: it would take the result of yesterday's files from its cache.
const root = "../.."
