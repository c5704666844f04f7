#!/usr/bin/perl -w
# Prints a document as it is installed: links to what is installed as well lead to where it lies then, links to pages elsewhere stay,
# and of other links the text is left. Images that are not installed are removed.
# usage: installed-document.pl DOCUMENT [PATH=INSTALLED]...   PATH as in the tree, INSTALLED relative to the directory of documents
use strict;

my ($document, @installed) = @ARGV;
my %place = map { split /=/ } @installed;
(my $directory = $document) =~ s,[^/]*$,,;

sub link_to {
  my ($text, $target, $fragment) = @_;
  return "[$text]($target$fragment)" if $target eq '' || $target =~ /^[a-z]+:/;
  my $path = "$directory$target";
  1 while $path =~ s,(^|/)(?!\.\./)[^/]+/\.\./,$1,;
  return exists $place{$path} ? "[$text]($place{$path}$fragment)" : $text;
}

sub image {
  my ($whole, $target) = @_;
  return $target =~ /^[a-z]+:/ || exists $place{"$directory$target"} ? $whole : '';
}

local $/;
open my $file, '<', $document or die "$document: $!\n";
$_ = <$file>;
s{^(!\[[^\]]*\]\(([^)\s]+)\)\n\n?)}{image($1, $2)}gme;
s{\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)}{link_to($1, $2, $3 // '')}ge;
print;
