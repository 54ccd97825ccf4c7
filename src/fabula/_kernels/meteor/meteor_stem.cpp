// The English Snowball stemmer (Porter2, Porter 2001) in the older form that METEOR 1.5 carries. Twin: fabula/text/meteor/stem.py.
#include "meteor.hpp"

#include <string_view>
#include <utility>

namespace meteor {
namespace {

using Letters = std::u16string;
using View = std::u16string_view;

bool vowel(char16_t c) { return c == u'a' || c == u'e' || c == u'i' || c == u'o' || c == u'u' || c == u'y'; }
bool in(View letters, char16_t c) { return letters.find(c) != View::npos; }
bool ends(View w, View suffix) { return w.size() >= suffix.size() && w.substr(w.size() - suffix.size()) == suffix; }
bool has_vowel(View w) {
    for (char16_t c : w)
        if (vowel(c)) return true;
    return false;
}

using Rule = std::pair<View, View>;
constexpr Rule WHOLE_WORDS[] = {
    {u"skis", u"ski"},     {u"skies", u"sky"},   {u"dying", u"die"},  {u"lying", u"lie"},   {u"tying", u"tie"},   {u"idly", u"idl"},
    {u"gently", u"gentl"}, {u"ugly", u"ugli"},   {u"early", u"earli"}, {u"only", u"onli"},  {u"singly", u"singl"}, {u"sky", u"sky"},
    {u"news", u"news"},    {u"howe", u"howe"},   {u"atlas", u"atlas"}, {u"cosmos", u"cosmos"}, {u"bias", u"bias"}, {u"andes", u"andes"},
};
constexpr View AFTER_1A[] = {u"inning", u"outing", u"canning", u"herring", u"earring", u"proceed", u"exceed", u"succeed"};
constexpr View R1_PREFIXES[] = {u"gener", u"commun", u"arsen"};
// Longest first within each step: the first that fits is the one that counts.
constexpr View STEP_1B[] = {u"eedly", u"ingly", u"edly", u"eed", u"ing", u"ed"};
constexpr Rule STEP_2[] = {
    {u"ization", u"ize"}, {u"ational", u"ate"}, {u"fulness", u"ful"}, {u"ousness", u"ous"}, {u"iveness", u"ive"}, {u"tional", u"tion"},
    {u"biliti", u"ble"},  {u"lessli", u"less"}, {u"entli", u"ent"},   {u"ation", u"ate"},   {u"alism", u"al"},    {u"aliti", u"al"},
    {u"ousli", u"ous"},   {u"iviti", u"ive"},   {u"fulli", u"ful"},   {u"enci", u"ence"},   {u"anci", u"ance"},   {u"abli", u"able"},
    {u"izer", u"ize"},    {u"ator", u"ate"},    {u"alli", u"al"},     {u"bli", u"ble"},     {u"ogi", u"og"},      {u"li", u""},
};
constexpr Rule STEP_3[] = {
    {u"ational", u"ate"}, {u"tional", u"tion"}, {u"alize", u"al"}, {u"icate", u"ic"}, {u"iciti", u"ic"},
    {u"ative", u""},      {u"ical", u"ic"},     {u"ness", u""},    {u"ful", u""},
};
constexpr View STEP_4[] = {
    u"ement", u"ance", u"ence", u"able", u"ible", u"ment", u"ant", u"ent", u"ism",
    u"ate",   u"iti",  u"ous",  u"ive",  u"ize",  u"ion",  u"al",  u"er",  u"ic",
};

size_t region(View w, size_t start) {
    size_t k = start;
    while (k < w.size() && !vowel(w[k])) ++k;
    while (k < w.size() && vowel(w[k])) ++k;
    return k < w.size() ? k + 1 : w.size();
}

bool ends_short(View w) {
    const size_t n = w.size();
    if (n >= 3 && !vowel(w[n - 1]) && !in(u"wxY", w[n - 1]) && vowel(w[n - 2]) && !vowel(w[n - 3])) return true;
    return n == 2 && !vowel(w[1]) && vowel(w[0]);
}

void step_1a(Letters &w) {
    for (View mark : {View(u"'s'"), View(u"'s"), View(u"'")})
        if (ends(w, mark)) {
            w.resize(w.size() - mark.size());
            break;
        }
    const size_t n = w.size();
    if (ends(w, u"sses")) w.resize(n - 2);
    else if (ends(w, u"ied") || ends(w, u"ies")) w.resize(n > 4 ? n - 2 : n - 1);
    else if (ends(w, u"s") && !ends(w, u"us") && !ends(w, u"ss") && n >= 2 && has_vowel(View(w).substr(0, n - 2))) w.resize(n - 1);
}

void step_1b(Letters &w, size_t p1) {
    for (View suffix : STEP_1B) {
        if (!ends(w, suffix)) continue;
        const size_t n = w.size() - suffix.size();
        if (suffix.substr(0, 3) == u"eed") {
            if (n >= p1) w.resize(n + 2);
            return;
        }
        if (!has_vowel(View(w).substr(0, n))) return;
        w.resize(n);
        if (ends(w, u"at") || ends(w, u"bl") || ends(w, u"iz")) w += u'e';
        else if (n >= 2 && w[n - 1] == w[n - 2] && in(u"bdfgmnprt", w[n - 1])) w.pop_back();
        else if (n == p1 && ends_short(w)) w += u'e';
        return;
    }
}

void step_2(Letters &w, size_t p1) {
    for (const auto &[suffix, to] : STEP_2) {
        if (!ends(w, suffix)) continue;
        const size_t n = w.size() - suffix.size();
        if (n < p1) return;
        if (suffix == u"ogi" && !(n && w[n - 1] == u'l')) return;
        if (suffix == u"li" && !(n && in(u"cdeghkmnrt", w[n - 1]))) return;
        w.resize(n);
        w += to;
        return;
    }
}

void step_3(Letters &w, size_t p1, size_t p2) {
    for (const auto &[suffix, to] : STEP_3) {
        if (!ends(w, suffix)) continue;
        const size_t n = w.size() - suffix.size();
        if (n < (suffix == u"ative" ? p2 : p1)) return;
        w.resize(n);
        w += to;
        return;
    }
}

void step_4(Letters &w, size_t p2) {
    for (View suffix : STEP_4) {
        if (!ends(w, suffix)) continue;
        const size_t n = w.size() - suffix.size();
        if (n < p2 || (suffix == u"ion" && !(n && (w[n - 1] == u's' || w[n - 1] == u't')))) return;
        w.resize(n);
        return;
    }
}

void step_5(Letters &w, size_t p1, size_t p2) {
    if (w.empty()) return;
    const size_t n = w.size() - 1;
    if (w[n] == u'e') {
        if (n >= p2 || (n >= p1 && !ends_short(View(w).substr(0, n)))) w.resize(n);
    } else if (ends(w, u"ll") && n >= p2) {
        w.resize(n);
    }
}

}  // namespace

std::u16string stem(std::u16string w) {
    if (w.size() <= 6)
        for (const auto &[word, to] : WHOLE_WORDS)
            if (w == word) return Letters(to);
    if (w.size() < 3) return w;
    if (w[0] == u'\'') w.erase(0, 1);
    bool marked = false;
    for (size_t k = 0; k < w.size(); ++k)
        if (w[k] == u'y' && (k == 0 || vowel(w[k - 1]))) w[k] = u'Y', marked = true;
    size_t p1 = 0;
    for (View prefix : R1_PREFIXES)
        if (View(w).substr(0, prefix.size()) == prefix) p1 = prefix.size();
    if (!p1) p1 = region(w, 0);
    const size_t p2 = region(w, p1);
    step_1a(w);
    bool done = false;
    for (View word : AFTER_1A) done = done || w == word;
    if (!done) {
        step_1b(w, p1);
        if (w.size() > 2 && (w.back() == u'y' || w.back() == u'Y') && !vowel(w[w.size() - 2])) w.back() = u'i';
        step_2(w, p1);
        step_3(w, p1, p2);
        step_4(w, p2);
        step_5(w, p1, p2);
    }
    if (marked)
        for (char16_t &c : w)
            if (c == u'Y') c = u'y';
    return w;
}

}  // namespace meteor
